package redlock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// inParallel is how many ticks a replica is at in the same instant.
const inParallel = 256

// BenchmarkClaim measures a claim and its finish on five servers: in sequence, and
// concurrently with plain redsync's Lock and Unlock on the same servers, in one round and
// in two. The ratio is our operations per redsync operation. The processor time per
// operation hardly depends on the machine's other load.
func BenchmarkClaim(b *testing.B) {
	servers := redistest.StartN(b, 5)
	patient := func(cfg *membership.Config) { cfg.Timeout = 5 * time.Second } // a crowded machine
	c := newCluster(b, redistest.URLs(servers), patient)
	l, plain := c.locker(b), plainRedsync(b, servers)
	var n atomic.Int64
	claim := func(direct bool) func(tb testing.TB) {
		return func(tb testing.TB) {
			tb.Helper()
			req := c.request(past(0))
			req.Name, req.Direct = fmt.Sprintf("job-%d", n.Add(1)), direct
			mustRelease(tb, mustAcquire(tb, l, req))
		}
	}
	lock := func(tb testing.TB) {
		tb.Helper()
		m := plain.NewMutex(fmt.Sprintf("plain-%d", n.Add(1)), redsync.WithExpiry(30*time.Second))
		if err := m.LockContext(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		if _, err := m.UnlockContext(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	b.Run("alone", func(b *testing.B) { perSecond(b, 1, claim(true)) })
	b.Run("alone/redsync", func(b *testing.B) { perSecond(b, 1, lock) })
	b.Run("256", func(b *testing.B) {
		used := cpuOf(b, servers)
		theirs := perSecond(b, inParallel, lock)
		plainServers, plainClient := used.take(b)
		two := perSecond(b, inParallel, claim(false))
		used.take(b)
		one := perSecond(b, inParallel, claim(true))
		oneServers, oneClient := used.take(b)
		b.ReportMetric(oneServers, "servers-us")
		b.ReportMetric(oneClient, "client-us")
		b.ReportMetric(plainServers, "redsync-servers-us")
		b.ReportMetric(plainClient, "redsync-client-us")
		b.ReportMetric(theirs, "redsync/s")
		b.ReportMetric(one/theirs, "ratio")
		b.ReportMetric(two/theirs, "ratio-2-rounds")
	})
}

// perSecond runs f b.N times, atOnce at a time, and returns the rate per second.
func perSecond(b *testing.B, atOnce int, f func(tb testing.TB)) float64 {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	start := time.Now()
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				f(b)
			}
		})
	}
	wg.Wait()
	rate := float64(b.N) / time.Since(start).Seconds()
	b.ReportMetric(rate, "done/s")
	return rate
}

// plainRedsync is redsync on the servers with its own adapter and default options.
func plainRedsync(b *testing.B, servers []*redistest.Server) *redsync.Redsync {
	b.Helper()
	pools := make([]redis.Pool, len(servers))
	for i, s := range servers {
		pools[i] = goredis.NewPool(s.Client())
	}
	return redsync.New(pools...)
}
