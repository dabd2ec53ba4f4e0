package redistest

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A Cluster is nodes, and a namespace of them.
type Cluster struct {
	Namespace string
	URLs      []string
	// Dial connects to embedded nodes. It is nil for real ones.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Servers returns the cluster of real nodes.
func Servers(servers []*Server) Cluster { return Cluster{Namespace: "quorate", URLs: URLs(servers)} }

// Cluster returns the cluster of the nodes.
func (m *Minis) Cluster() Cluster {
	return Cluster{Namespace: "quorate", URLs: m.URLs(), Dial: m.Dial}
}

// A Fleet makes clusters of one kind.
type Fleet struct {
	// Nodes is how many nodes a cluster has.
	Nodes int
	// Bubble runs a test by the clock of the nodes. It is nil for real ones.
	Bubble func(t *testing.T, f func(t *testing.T))
	// New makes a cluster that nobody has used.
	New func(tb testing.TB) Cluster
}

// OnEvery runs f on real nodes, on real ones with a user who is bound by the ACL
// rules, and on embedded ones.
func OnEvery(t *testing.T, rules string, f func(t *testing.T, fl Fleet)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, realFleet(t))
	})
	t.Run("acl", func(t *testing.T) {
		t.Parallel()
		f(t, realFleet(t, ACL("quorate", "secret", rules)))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		f(t, Fleet{Nodes: 5, Bubble: synctest.Test, New: func(tb testing.TB) Cluster {
			tb.Helper()
			return MiniN(tb, 5).Cluster()
		}})
	})
}

// realFleet makes clusters of the same servers, each in a namespace of its own.
func realFleet(tb testing.TB, opts ...Option) Fleet {
	tb.Helper()
	nodes := Servers(StartN(tb, 3, opts...))
	var n atomic.Int32
	return Fleet{Nodes: len(nodes.URLs), New: func(testing.TB) Cluster {
		return Cluster{Namespace: fmt.Sprintf("%s:%d", nodes.Namespace, n.Add(1)), URLs: nodes.URLs}
	}}
}
