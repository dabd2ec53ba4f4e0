package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/nodetest/difftest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

func TestMain(m *testing.M) {
	difftest.Sample()
	goleak.VerifyTestMain(m)
}

// A cluster is nodes that never served before, and replicas of them.
type cluster struct {
	cfg membership.Config
}

// newCluster declares the nodes at the URLs as new.
func newCluster(tb testing.TB, urls []string, mend func(*membership.Config)) *cluster {
	tb.Helper()
	c := &cluster{cfg: membership.Config{Timeout: 300 * time.Millisecond, TTL: 30 * time.Second, Grace: 31 * time.Second}}
	for _, u := range urls {
		c.cfg.Nodes = append(c.cfg.Nodes, membership.NodeConfig{URL: u})
	}
	if mend != nil {
		mend(&c.cfg)
	}
	patient := &cluster{cfg: c.cfg} // a busy machine does not fail the set-up
	patient.cfg.Timeout = max(c.cfg.Timeout, c.cfg.TTL/5)
	if err := patient.open(tb).Init(tb.Context(), false); err != nil {
		tb.Fatal(err)
	}
	return c
}

func newMiniCluster(tb testing.TB, minis *redistest.Minis) *cluster {
	tb.Helper()
	return newCluster(tb, minis.URLs(), func(cfg *membership.Config) { cfg.Dial, cfg.Embedded = minis.Dial, true })
}

// open connects a replica, as long as the test.
func (c *cluster) open(tb testing.TB) *membership.Set {
	tb.Helper()
	cfg := c.cfg
	cfg.Nodes = slices.Clone(cfg.Nodes)
	set, err := membership.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = set.Close() })
	return set
}

// locker connects a replica whose nodes are probed in the background.
func (c *cluster) locker(tb testing.TB) *Locker {
	tb.Helper()
	set := c.open(tb)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = set.Run(ctx) })
	l, err := New(set, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = l.Close()
		cancel()
		running.Wait()
	})
	return l
}

// begun keeps the ticks of a test the same when the minute turns meanwhile.
var begun = time.Now()

// past is the n-th of some ticks that are due, also in a bubble, whose time is
// long ago.
func past(n int) time.Time {
	now := time.Now()
	if now.After(begun) {
		now = begun
	}
	return now.Add(-5 * time.Minute).Truncate(time.Minute).Add(time.Duration(n) * time.Second)
}

// request is one for a tick, with the cluster's TTL.
func (c *cluster) request(tick time.Time) locking.Request {
	return locking.Request{Name: "job", Tick: tick, TTL: c.cfg.TTL, Holder: "the holder", Note: []byte(`{"v":1}`)}
}

func mustAcquire(tb testing.TB, l locking.Locker, req locking.Request) locking.Lease {
	tb.Helper()
	lease, err := l.TryAcquire(tb.Context(), req)
	if err != nil {
		tb.Fatalf("TryAcquire = %v", err)
	}
	return lease
}

func mustRelease(tb testing.TB, lease locking.Lease) {
	tb.Helper()
	if err := lease.Release(tb.Context(), []byte(`{"v":1}`)); err != nil {
		tb.Fatalf("Release = %v", err)
	}
}

// inNamespace gives a cluster its own namespace on shared servers, one that the ACL user
// may use.
func inNamespace(n int) func(*membership.Config) {
	return func(cfg *membership.Config) { cfg.Namespace = fmt.Sprintf("quorate:%d", n) }
}
