package zookeeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/zookeeper/internal/zookeepertest"
)

// chown gives the nodes below a path to a user.
func chown(t *testing.T, c *zk.Conn, path string, acl []zk.ACL) {
	t.Helper()
	children, _, err := c.Children(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		chown(t, c, strings.TrimRight(path, "/")+"/"+child, acl)
	}
	if _, err := c.SetACL(path, acl, -1); err != nil {
		t.Fatal(err)
	}
}

// When the rights to the nodes go to another password, which then comes into the file, it is used
// without a restart, and also while connections last. Until then errors say so without secrets.
func TestPasswordRotation(t *testing.T) {
	e := zookeepertest.Start(t, 1, zookeepertest.Options{})
	secret := filepath.Join(t.TempDir(), "secret")
	rewrite := func(password string) {
		t.Helper()
		if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("Geheim1")
	opened, err := (&Store{}).Open(t.Context(), config.Cluster{
		Namespace: "n", Section: config.SectionZooKeeper,
		ZooKeeper: settings.ZooKeeper{Servers: e.Servers(), Username: "quorate", Password: settings.Secret("${file:" + secret + "}"), Chroot: "/billing"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	s := opened.(*ensemble)
	write(t, s)
	_, stamp, err := s.Read(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	owner := e.Client(t)
	if err := owner.AddAuth("digest", []byte("quorate:Geheim1")); err != nil {
		t.Fatal(err)
	}
	chown(t, owner, "/billing", zk.DigestACL(zk.PermAll, "quorate", "Geheim2"))
	put := kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: x, Value: []byte(`2`)}}}
	_, _, err = s.Read(t.Context(), x)
	_, err2 := s.Commit(t.Context(), put)
	for _, err := range []error{err, err2} {
		if err == nil || errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "the user quorate with this password has no right") || strings.Contains(err.Error(), "Geheim") {
			t.Errorf("with the old password: %v", err)
		}
	}
	rewrite("Geheim2")
	if o, err := s.Commit(t.Context(), put); err != nil || !o.Won {
		t.Errorf("with the new password: %+v, %v", o, err)
	}
	write(t, s)
	if err := owner.AddAuth("digest", []byte("quorate:Geheim2")); err != nil {
		t.Fatal(err)
	}
	chown(t, owner, "/billing", zk.DigestACL(zk.PermAll, "quorate", "Geheim3"))
	rewrite("Geheim3")
	write(t, s) // it begins with a read
}

// Certificates that are replaced at the servers and in the files are used by the next connection.
func TestCertificateRotation(t *testing.T) {
	before, after := redistest.NewCA(t), redistest.NewCA(t)
	e := zookeepertest.Start(t, 1, zookeepertest.Options{TLS: before})
	dir := t.TempDir()
	cert, key := before.Write(t, dir)
	opened, err := (&Store{}).Open(t.Context(), config.Cluster{
		Namespace: "n", Section: config.SectionZooKeeper,
		ZooKeeper: settings.ZooKeeper{Servers: e.Servers(), TLS: settings.TLS{CAFile: cert, CertFile: cert, KeyFile: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	s := opened.(*ensemble)
	write(t, s)
	e.Renew(t, after)
	fails := func(want string) {
		t.Helper()
		for until := time.Now().Add(30 * time.Second); ; {
			_, _, err := s.Read(t.Context(), x)
			if err != nil && strings.Contains(err.Error(), want) {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("Read = %v, want %q", err, want)
			}
		}
	}
	fails("certificate")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	fails("zookeeper.tls")
	after.Write(t, dir)
	write(t, s)
}
