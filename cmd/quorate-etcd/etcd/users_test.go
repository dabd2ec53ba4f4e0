package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/cmd/quorate-etcd/internal/etcdtest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/store"
)

// The role of docs/etcd.md is enough, and what etcd refuses is told without secrets.
func TestUsers(t *testing.T) {
	t.Parallel()
	w := etcdtest.Start(t, 1)
	c, ctx := w.Client(t), t.Context()
	_, e1 := c.RoleAdd(ctx, "root")
	_, e2 := c.UserAdd(ctx, "root", "other")
	_, e3 := c.UserGrantRole(ctx, "root", "root")
	_, e4 := c.RoleAdd(ctx, "quorate")
	prefix := "quorate/billing/"
	_, e5 := c.RoleGrantPermission(ctx, "quorate", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
	_, e6 := c.UserAdd(ctx, "quorate", "Geheim1")
	_, e7 := c.UserGrantRole(ctx, "quorate", "quorate")
	_, e8 := c.AuthEnable(ctx)
	if err := errors.Join(e1, e2, e3, e4, e5, e6, e7, e8); err != nil {
		t.Fatal(err)
	}
	as := func(namespace, password string) *server {
		t.Helper()
		s := open(config.Cluster{Namespace: namespace, Etcd: config.EtcdConfig{Endpoints: w.URLs(), Username: "quorate", Password: password}})
		t.Cleanup(s.Close)
		return s
	}
	s := as("billing", "Geheim1")
	x := store.Key{Kind: store.Claims, Name: "x"}
	_, stamp, err := s.Read(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := s.Commit(ctx, store.Txn{Life: stamp.Life, Put: []store.Write{{Key: x, Value: []byte(`1`)}}}); err != nil || !o.Won {
		t.Errorf("Commit = %+v, %v", o, err)
	}
	if _, err := s.Check(ctx); err != nil {
		t.Errorf("Check = %v", err)
	}
	for what, s := range map[string]*server{"permission denied": as("other", "Geheim1"), "authentication failed": as("billing", "Geheim2")} {
		_, _, err := s.Read(ctx, x)
		if err == nil || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "Geheim") {
			t.Errorf("Read = %v, want %q, which trying again cannot help", err, what)
		}
	}
}

// A member with TLS is reached by those who trust its certificate, and by no others.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := redistest.NewCA(t), redistest.NewCA(t)
	w := etcdtest.StartTLS(t, ca)
	for trusted, want := range map[*redistest.CA]error{ca: nil, other: store.ErrUnavailable} {
		s := open(config.Cluster{Namespace: "n", TLS: trusted.Config(), Etcd: config.EtcdConfig{Endpoints: w.URLs()}})
		t.Cleanup(s.Close)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if _, _, err := s.Read(ctx); !errors.Is(err, want) {
			t.Errorf("Read = %v, want %v", err, want)
		}
		cancel()
	}
}
