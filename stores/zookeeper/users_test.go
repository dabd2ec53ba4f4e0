package zookeeper

import (
	"context"
	"errors"
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

var x = kv.Key{Kind: kv.Claims, Name: "x"}

// write writes x. A server that has just begun may take longer to answer than a call lasts.
func write(t *testing.T, s *ensemble) {
	t.Helper()
	_, stamp, err := s.Read(t.Context(), x)
	for until := time.Now().Add(time.Minute); errors.Is(err, kv.ErrNotSent) && time.Now().Before(until); {
		_, stamp, err = s.Read(t.Context(), x)
	}
	if err != nil {
		t.Fatal(err)
	}
	if o, err := s.Commit(t.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: x, Value: []byte(`1`)}}}); err != nil || !o.Won {
		t.Errorf("Commit = %+v, %v", o, err)
	}
}

// as is a configuration with a user.
func as(c config.Cluster, username, password settings.Secret) config.Cluster {
	c.ZooKeeper.Username, c.ZooKeeper.Password = username, password
	return c
}

// trusting is a configuration with TLS.
func trusting(t *testing.T, c config.Cluster, ca *redistest.CA) config.Cluster {
	t.Helper()
	cert, key := ca.Write(t, t.TempDir())
	c.ZooKeeper.TLS = settings.TLS{CAFile: cert, CertFile: cert, KeyFile: key}
	return c
}

// below is a configuration with a chroot.
func below(chroot string, c config.Cluster) config.Cluster {
	c.ZooKeeper.Chroot = chroot
	return c
}

// A user who has one node needs nothing else, nobody else can read or write what it keeps, and
// what ZooKeeper refuses is told without secrets.
func TestUsers(t *testing.T) {
	t.Parallel()
	e := zookeepertest.Start(t, 1, zookeepertest.Options{})
	admin := e.Client(t)
	_, e1 := admin.Create("/apps", nil, 0, zk.WorldACL(zk.PermRead))
	_, e2 := admin.Create("/apps/billing", nil, 0, zk.DigestACL(zk.PermAll, "quorate", "Geheim1"))
	if err := errors.Join(e1, e2); err == nil || e1 != nil { // /apps is for reading
		t.Fatal(e1, e2)
	}
	_, e1 = admin.Create("/billing", nil, 0, zk.DigestACL(zk.PermAll, "quorate", "Geheim1"))
	if e1 != nil {
		t.Fatal(e1)
	}
	n := in(e, "n")
	s := opened(t, as(below("/billing", n), "quorate", "Geheim1"))
	write(t, s)
	if found, err := s.Check(t.Context()); err != nil || !strings.HasPrefix(found.Version, "ZooKeeper 3.") {
		t.Errorf("Check = %+v, %v", found, err)
	}
	for _, at := range []string{"", "/claim", "/claim/x=", "/life"} {
		acl, _, err := admin.GetACL("/billing/quorate/n" + at)
		if !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("everybody sees who has rights to %s: %v, %v", at, acl, err)
		}
	}
	for what, c := range map[string]config.Cluster{
		"another password": as(below("/billing", n), "quorate", "Geheim2"),
		"no user":          below("/billing", n),
		"another node":     as(below("/apps", n), "quorate", "Geheim1"),
	} {
		_, _, err := opened(t, c).Read(t.Context(), x)
		if err == nil || errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "has no right to "+c.ZooKeeper.Chroot) || strings.Contains(err.Error(), "Geheim") {
			t.Errorf("%s: Read = %v, want that it has no right, which trying again cannot help", what, err)
		}
	}
}

// A chroot need not exist. What is in one is not seen in another.
func TestChroot(t *testing.T) {
	t.Parallel()
	e := zookeepertest.Start(t, 1, zookeepertest.Options{})
	write(t, opened(t, below("/apps/billing", in(e, "a/b"))))
	for chroot, want := range map[string]int{"/apps/billing": 1, "/apps": 0, "": 0} {
		lists, _, err := opened(t, below(chroot, in(e, "a/b"))).List(t.Context(), kv.All(kv.Claims))
		if err != nil || len(lists[0]) != want {
			t.Errorf("in %q it lists %v, %v", chroot, lists, err)
		}
	}
}

// A server with TLS is reached by those who trust its certificate, and by no others.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := redistest.NewCA(t), redistest.NewCA(t)
	e := zookeepertest.Start(t, 1, zookeepertest.Options{TLS: ca})
	write(t, opened(t, trusting(t, in(e, "n"), ca)))
	for what, s := range map[string]*ensemble{
		"certificate": opened(t, trusting(t, in(e, "n"), other)),
		"closed":      opened(t, in(e, "n")),
	} {
		var err error
		for until := time.Now().Add(time.Minute); ; { // a busy machine needs longer than one call lasts
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, _, err = s.Read(ctx)
			cancel()
			if err == nil || strings.Contains(err.Error(), what) || time.Now().After(until) {
				break
			}
		}
		if !errors.Is(err, kv.ErrNotSent) || !strings.Contains(err.Error(), what) {
			t.Errorf("Read = %v, want %v and %s", err, kv.ErrNotSent, what)
		}
	}
}

// Texts become names of nodes, each its own, and back.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, text := range []string{"", ".", "..", "...", "a.b", "a/b", "a b", "a+b", "a%2Fb", "%", "%.", "=", "a=", "é", "\x01", "\ufff0"} {
		name := escape(text)
		if seen[name] || name == "" || strings.Trim(name, ".") == "" || strings.ContainsAny(name, "/=") {
			t.Errorf("escape(%q) = %q", text, name)
		}
		seen[name] = true
		if back, ours := unescape(name); back != text || !ours {
			t.Errorf("unescape(%q) = %q, %v", name, back, ours)
		}
	}
}
