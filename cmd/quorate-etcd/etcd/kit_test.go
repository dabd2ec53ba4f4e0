package etcd

import (
	"testing"

	"github.com/quorate/quorate/cmd/quorate-etcd/internal/etcdtest"
	"github.com/quorate/quorate/internal/onestore/storekits"
	"github.com/quorate/quorate/internal/store"
)

// newWorld is a cluster that tests share.
func newWorld(tb testing.TB, members int) (*storekits.World, *etcdtest.Cluster) {
	tb.Helper()
	c := etcdtest.Start(tb, members)
	return &storekits.World{
		Open: func(tb testing.TB, namespace string) store.Store {
			tb.Helper()
			s, err := open(options{endpoints: c.URLs(), namespace: namespace})
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(s.Close)
			return s
		},
		NextLife: func(tb testing.TB, s store.Store) { tb.Helper(); nextLife(tb, s.(*server)) },
	}, c
}

// nextLife does what a process does that has noticed a restore.
func nextLife(tb testing.TB, s *server) {
	tb.Helper()
	c, _, err := s.client(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	r, err := c.Get(tb.Context(), s.lifeKey())
	if err != nil {
		tb.Fatal(err)
	}
	known, _ := s.lives.before()
	if err := s.begin(tb.Context(), c, known, r.Header, r.Kvs[0]); err != nil {
		tb.Fatal(err)
	}
}

// TestKits runs the kits on a real cluster: on three members at full length, in CI on one.
func TestKits(t *testing.T) {
	t.Parallel()
	members := 1
	if storekits.Full() {
		members = 3
	}
	w, _ := newWorld(t, members)
	w.Run(t)
}

func TestRestore(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, 1)
	w.Restore(t, func() func() { return c.Backup(t) })
}
