package etcd

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
)

// newWorld is a cluster that tests share.
func newWorld(tb testing.TB, members int) (*storetest.World, *etcdtest.Cluster) {
	tb.Helper()
	c := etcdtest.Start(tb, members)
	return &storetest.World{
		Open: func(tb testing.TB, namespace string) kv.Store {
			tb.Helper()
			s := open(config.Cluster{Namespace: namespace, Section: config.SectionEtcd, Etcd: settings.Etcd{Endpoints: c.URLs()}})
			tb.Cleanup(s.Close)
			return s
		},
		NextIncarnation: func(tb testing.TB, s kv.Store) { tb.Helper(); nextIncarnation(tb, s.(*server)) },
	}, c
}

// nextIncarnation does what a process does that has noticed a restore.
func nextIncarnation(tb testing.TB, s *server) {
	tb.Helper()
	err := s.do(tb.Context(), true, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Get(ctx, s.incarnationKey())
		if err != nil {
			return err
		}
		known := parseIncarnation(string(r.Kvs[0].Value))
		return s.begin(ctx, c, incarnation{known.cluster, known.number + 1}, uint64(r.Kvs[0].ModRevision))
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// TestKits runs the kits on a real cluster: on three members at full length, in CI on one.
func TestKits(t *testing.T) {
	t.Parallel()
	members := 1
	if length.Whole() {
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
