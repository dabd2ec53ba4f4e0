package redlock

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

// Twenty contenders lock, extend and release on five servers; no guarded update is lost.
func TestStress(t *testing.T) {
	t.Parallel()
	cfg := locktest.StressConfig{Contenders: 20, Rounds: length.Of(300, 2000), TTL: 10 * time.Second}
	servers := redistest.StartN(t, 5)
	c := newCluster(t, redistest.URLs(servers), nil)
	got := locktest.Stress(t, func(string) locking.Locker { return c.locker(t) }, cfg)
	t.Logf("%d contenders on 5 servers: %v", cfg.Contenders, got)
	if got.Rounds != cfg.Rounds {
		t.Errorf("%d rounds, want %d", got.Rounds, cfg.Rounds)
	}
	eventually(t, "no lock is left", func() bool {
		n := int64(0)
		for _, s := range servers {
			n += s.Client().Exists(t.Context(), "{quorate}:job:kit:lock").Val()
		}
		return n == 0
	})
}
