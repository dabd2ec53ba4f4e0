// Command image writes the container image as an OCI layout, which `crane push` publishes.
// It needs no registry and no container engine: go-containerregistry writes the layout, and
// golang.org/x/crypto/x509roots has the CA roots. ko and goreleaser could only push it.
//
//	go run . -out DIR quorate-linux-amd64 quorate-linux-arm64
//
// The image is from scratch: the binary, which has the time zones in it, the CA roots, and
// a user that is not root. Version, commit, date and platform are those in the binaries.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	out := flag.String("out", "", "new `folder` for the layout")
	flag.Parse()
	if err := write(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// write writes an image of each binary's platform, and their index.
func write(out string, binaries []string) error {
	if out == "" || len(binaries) == 0 {
		return fmt.Errorf("write image -out DIR BINARY ..., one binary per platform")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, path := range binaries {
		b, err := readBinary(path)
		if err != nil {
			return err
		}
		image, err := b.image()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		platform := b.platform()
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if _, err := layout.Write(out, index); err != nil {
		return err
	}
	fmt.Println(digest)
	return nil
}

// Health checks ask this often, and give up after that.
const (
	healthEvery   = 30 * time.Second
	healthTimeout = 6 * time.Second
)

// image is the image of the binary.
func (b binary) image() (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, list := range [][]file{base(), {{name: "usr/bin/quorate", mode: 0o755, text: b.text}}} {
		layer, err := layerOf(list, b.date)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", b.arch, v1.Time{Time: b.date}
	config.Config = v1.Config{
		User:       user + ":" + user,
		Env:        []string{"PATH=/usr/bin", "QUORATE_CONFIG=/etc/quorate/config.yaml"},
		Entrypoint: []string{"/usr/bin/quorate"},
		Cmd:        []string{"run"},
		WorkingDir: "/",
		StopSignal: "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/usr/bin/quorate", "health"},
			Interval: healthEvery, Timeout: healthTimeout,
		},
		Labels: b.labels(),
	}
	return mutate.ConfigFile(image, config)
}
