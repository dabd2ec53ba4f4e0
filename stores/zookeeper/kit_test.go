package zookeeper

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/zookeeper/internal/zookeepertest"
)

// newWorld is an ensemble that tests share.
func newWorld(tb testing.TB, members int) (*storetest.World, *zookeepertest.Ensemble) {
	tb.Helper()
	e := zookeepertest.Start(tb, members, zookeepertest.Options{})
	return &storetest.World{
		Open: func(tb testing.TB, namespace string) kv.Store {
			tb.Helper()
			return opened(tb, in(e, namespace))
		},
		NextIncarnation: func(tb testing.TB, s kv.Store) { tb.Helper(); nextIncarnation(tb, s.(*ensemble)) },
		OneByOne:        true, Old: true,
	}, e
}

// in is the configuration of a namespace of an ensemble.
func in(e *zookeepertest.Ensemble, namespace string) config.Cluster {
	return config.Cluster{Namespace: namespace, Section: config.SectionZooKeeper, ZooKeeper: settings.ZooKeeper{Servers: e.Servers()}}
}

// opened is the store of a configuration until the test ends.
func opened(tb testing.TB, c config.Cluster) *ensemble {
	tb.Helper()
	s := open(c)
	tb.Cleanup(s.Close)
	return s
}

// nextIncarnation does what a process does that has noticed a restore.
func nextIncarnation(tb testing.TB, s *ensemble) {
	tb.Helper()
	known, _ := s.incarnations.before()
	_, err := do(tb.Context(), s, true, func(_ context.Context, c *zk.Conn) (any, error) {
		now, err := s.look(c)
		if err == nil {
			err = s.begin(c, now, known)
		}
		return nil, err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// TestKits runs the kits on a real ensemble: on three members at full length, in CI on one.
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
	w, e := newWorld(t, 1)
	w.Restore(t, func() func() { return e.Backup(t) })
}

// TestThroughput measures claims beside the lock of the client: docs/zookeeper.md.
func TestThroughput(t *testing.T) {
	w, e := newWorld(t, 3)
	c := e.Client(t)
	w.Throughput(t, "zk.Lock, Lock and Unlock", func(name string) error {
		l := zk.NewLock(c, "/locks/"+name, zk.WorldACL(zk.PermAll))
		if err := l.Lock(); err != nil {
			return err
		}
		return l.Unlock()
	}, 1, 16)
}
