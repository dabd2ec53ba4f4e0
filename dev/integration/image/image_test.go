// These tests need root and the binaries of `make image`: make image-check.

//go:build image

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

var written = flag.String("image", "../../../bin/image", "the layout that `make image` wrote")

// maxSize is how large an image may be, compressed.
const maxSize = 30 << 20

// images are those of the index, by architecture.
func images(t *testing.T) map[string]v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(*written)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		if found[m.Platform.Architecture], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestImages(t *testing.T) {
	found := images(t)
	for _, arch := range []string{"amd64", "arm64"} {
		image := found[arch]
		if image == nil {
			t.Errorf("there is no image for %s", arch)
			continue
		}
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		size := manifest.Config.Size
		for _, layer := range manifest.Layers {
			size += layer.Size
		}
		t.Logf("%s: %.1f MB compressed", arch, float64(size)/(1<<20))
		if size > maxSize {
			t.Errorf("%s has %d bytes, more than %d", arch, size, maxSize)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != arch || config.Config.User != "65532:65532" || config.Config.Healthcheck == nil || config.Config.Labels["org.opencontainers.image.version"] == "" {
			t.Errorf("%s has the configuration %+v", arch, config)
		}
	}
}

// A root is an image, unpacked on a file system that can only be read.
type root struct {
	dir    string
	config v1.Config
}

// unpack unpacks the image of this machine, with a configuration.
func unpack(t *testing.T, config string) root {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("run this test as root: it changes the root folder and the user of processes")
	}
	image := images(t)["amd64"]
	about, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	r := root{dir: filepath.Join(t.TempDir(), "root"), config: about.Config}
	flat := mutate.Extract(image)
	defer func() { _ = flat.Close() }()
	for list := tar.NewReader(flat); ; {
		header, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		r.add(t, header, list)
	}
	text := strings.NewReader(config)
	r.add(t, &tar.Header{Typeflag: tar.TypeDir, Name: "etc/quorate", Mode: 0o755}, nil)
	r.add(t, &tar.Header{Typeflag: tar.TypeReg, Name: "etc/quorate/config.yaml", Mode: 0o644}, text)
	for _, flags := range []uintptr{syscall.MS_BIND, syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY} {
		if err := syscall.Mount(r.dir, r.dir, "", flags, ""); err != nil {
			t.Fatalf("mounting the root read-only: %v", err)
		}
	}
	t.Cleanup(func() { _ = syscall.Unmount(r.dir, syscall.MNT_DETACH) })
	return r
}

func (r root) add(t *testing.T, header *tar.Header, text io.Reader) {
	t.Helper()
	name, mode := filepath.Join(r.dir, header.Name), os.FileMode(header.Mode)
	if header.Typeflag == tar.TypeDir {
		if err := os.MkdirAll(name, mode); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := io.ReadAll(text)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, mode))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// command is a process as a container engine starts it: in the root, as the user of the
// image, and with no right of root.
func (r root) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, r.config.Entrypoint[0], args...)
	c.Dir, c.Env = r.config.WorkingDir, r.config.Env
	var uid, gid uint32
	_, _ = fmt.Sscanf(r.config.User, "%d:%d", &uid, &gid)
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: r.dir, Credential: &syscall.Credential{Uid: uid, Gid: gid}, Pdeathsig: syscall.SIGKILL}
	return c
}

// TestImageRuns runs a replica in the unpacked image: it runs ticks, in a time zone, and
// is healthy.
func TestImageRuns(t *testing.T) {
	called := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- struct{}{} }))
	defer server.Close()
	r := unpack(t, fmt.Sprintf(`redis: {nodes: [%s]}
http: {probes_listen: %s}
jobs:
  call: {func: http, schedule: "* * * * * *", timezone: Europe/Paris, params: {url: %s}}
`, redistest.StartN(t, 1)[0].URL(), freeAddress(t), server.URL))

	if out, err := r.command(t.Context(), "store", "init").CombinedOutput(); err != nil {
		t.Fatalf("store init: %v, %s", err, out)
	}
	replica := r.command(t.Context(), r.config.Cmd...)
	var log bytes.Buffer
	replica.Stderr = &log
	if err := replica.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-called:
	case <-time.After(time.Minute):
		t.Error("no tick ran")
	}
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", replica.Process.Pid)); err != nil || !strings.Contains(string(status), "\nUid:\t65532\t65532\t65532\t65532\n") {
		t.Errorf("the replica runs as another user: %v, %s", err, status)
	}
	health := r.config.Healthcheck.Test
	if health[0] != "CMD" || health[1] != r.config.Entrypoint[0] {
		t.Errorf("the health check is %q", health)
	}
	if out, err := r.command(t.Context(), health[2:]...).CombinedOutput(); err != nil {
		t.Errorf("the replica is not healthy: %v, %s", err, out)
	}
	if err := replica.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := replica.Wait(); err != nil {
		t.Errorf("the replica ended with %v", err)
	}
	if out, err := r.command(t.Context(), health[2:]...).CombinedOutput(); err == nil {
		t.Errorf("a replica that has ended is healthy: %s", out)
	}
	if t.Failed() {
		t.Log(log.String())
	}
}

// freeAddress is an address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func TestImageHasRootsAndNothingToWriteTo(t *testing.T) {
	r := unpack(t, "")
	pool, certificates := x509.NewCertPool(), filepath.Join(r.dir, "etc/ssl/certs/ca-certificates.crt")
	text, err := os.ReadFile(certificates)
	if count := bytes.Count(text, []byte("BEGIN CERTIFICATE")); err != nil || count < 100 || !pool.AppendCertsFromPEM(text) {
		t.Errorf("%d CA roots, %v", count, err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "new"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("writing to the root: %v", err)
	}
	var names []string
	for _, entry := range must(os.ReadDir(r.dir)) {
		names = append(names, entry.Name())
	}
	if want := []string{"etc", "usr"}; !slices.Equal(names, want) {
		t.Errorf("the image has %q, want %q", names, want)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
