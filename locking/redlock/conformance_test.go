package redlock

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

func TestConformanceOnMiniredis(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Backend{
		New: func(tb testing.TB) func(string) locking.Locker {
			tb.Helper()
			c := newMiniCluster(tb, redistest.MiniN(tb, 5))
			return func(string) locking.Locker { return c.locker(tb) }
		},
		Short: 1400 * time.Millisecond, // more than four node timeouts
		Bubble: func(t *testing.T, check func(t *testing.T)) {
			t.Helper()
			synctest.Test(t, check)
		},
	})
}

func TestConformanceOnRedis(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	var n atomic.Int32
	locktest.Run(t, locktest.Backend{
		New: func(tb testing.TB) func(string) locking.Locker {
			tb.Helper()
			c := newCluster(tb, redistest.URLs(servers), inNamespace(int(n.Add(1))))
			return func(string) locking.Locker { return c.locker(tb) }
		},
		Short: 1400 * time.Millisecond,
	})
}
