package etcd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := put(ctx, s, stamp.Incarnation, "x")
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
	for until := time.Now().Add(30 * time.Second); ; {
		_, _, err := s.Read(t.Context())
		if err != nil && strings.Contains(err.Error(), "etcd.tls") {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("without a key: %v", err)
		}
	}
	rewrite("Geheim2", after)
	for until := time.Now().Add(30 * time.Second); ; {
		_, _, err := s.Read(t.Context())
		if err == nil {
			break
		}
		if !errors.Is(err, kv.ErrNotSent) || time.Now().After(until) {
			t.Fatalf("with the new certificate: %v", err)
		}
	}
	if err := put(t.Context(), s, stamp.Incarnation, "certificate"); err != nil {
		t.Errorf("with the new certificate: %v", err)
	}
}
