package etcd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
)

// A password and certificates that are replaced at etcd and in the files are used from the next
// connection on. Until the files follow, calls were not sent, and say so without secrets.
func TestRotation(t *testing.T) {
	t.Parallel()
	before, after := redistest.NewCA(t), redistest.NewCA(t)
	g := guard(t, etcdtest.StartTLS(t, before), true)
	dir := t.TempDir()
	rewrite := func(password string, ca *redistest.CA) {
		t.Helper()
		ca.Write(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(passwords, before)
	s := open(config.Cluster{Namespace: "billing", Section: config.SectionEtcd, Etcd: settings.Etcd{
		Endpoints: g.URLs(), Username: "quorate", Password: settings.Secret("${file:" + filepath.Join(dir, "secret") + "}"),
		TLS: settings.TLS{CAFile: filepath.Join(dir, "cert.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")},
	}})
	t.Cleanup(s.Close)
	_, stamp, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.asRoot(t, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.UserChangePassword(ctx, "quorate", "Geheim2")
		return err
	})
	refused := func(want string) {
		t.Helper()
		err := repeated(t, func(ctx context.Context) error { return put(ctx, s, stamp.Incarnation, "x") },
			func(err error) bool { return err == nil || strings.Contains(err.Error(), want) })
		if !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Geheim") {
			t.Errorf("Commit = %v, want %v and %q", err, kv.ErrNotSent, want)
		}
	}
	refused("the store refuses the login")
	rewrite("Geheim2", before)
	if err := put(t.Context(), s, stamp.Incarnation, "password"); err != nil {
		t.Errorf("with the new password: %v", err)
	}
	g.Renew(t, after)
	refused("certificate")
	if err := os.Remove(filepath.Join(dir, "key.pem")); err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context) error { _, _, err := s.Read(ctx); return err }
	noKey := func(err error) bool { return err != nil && strings.Contains(err.Error(), "etcd.tls") }
	if err := repeated(t, read, noKey); !noKey(err) {
		t.Fatalf("without a key: %v", err)
	}
	rewrite("Geheim2", after)
	if err := repeated(t, read, func(err error) bool { return !errors.Is(err, kv.ErrNotSent) }); err != nil {
		t.Fatalf("with the new certificate: %v", err)
	}
	if err := put(t.Context(), s, stamp.Incarnation, "certificate"); err != nil {
		t.Errorf("with the new certificate: %v", err)
	}
}
