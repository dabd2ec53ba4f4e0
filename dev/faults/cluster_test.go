package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
)

const (
	size   = 5
	quorum = 3
	job    = "job"
)

// A cluster is five redis-servers that never served before.
type cluster struct {
	servers []*redistest.Server
	cfg     membership.Config
}

// times are the node timeout, the length of a lease, and the restart grace.
type times struct{ timeout, ttl, grace time.Duration }

func newCluster(t *testing.T, d times, opts ...redistest.Option) *cluster {
	t.Helper()
	c := &cluster{
		servers: redistest.StartN(t, size, opts...),
		cfg:     membership.Config{Timeout: d.timeout, TTL: d.ttl, Grace: d.grace},
	}
	set, err := membership.Open(c.config(redistest.URLs(c.servers)))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	eventually(t, "the nodes are declared as new", func() bool {
		return set.Init(t.Context(), false) == nil
	})
	return c
}

// config names the nodes, by any route.
func (c *cluster) config(urls []string) membership.Config {
	cfg := c.cfg
	for i, u := range urls {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{Name: nodeName(i), URL: u})
	}
	return cfg
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i+1) }

// lines are ways to the nodes that can be spoilt.
type lines []*proxytest.Proxy

func (c *cluster) lines(t *testing.T) lines {
	t.Helper()
	var l lines
	for _, s := range c.servers {
		l = append(l, proxytest.New(t, s.Addr()))
	}
	return l
}

// A replica has connections of its own, and looks after its nodes.
type replica struct {
	*redlock.Locker
	set *membership.Set

	mu    sync.Mutex
	downs map[string]int // how often a node stopped answering
}

// replica connects by way of the lines, directly if there are none.
func (c *cluster) replica(t *testing.T, way lines) *replica {
	t.Helper()
	var urls []string
	for i, s := range c.servers {
		if way == nil {
			urls = append(urls, s.URL())
		} else {
			urls = append(urls, s.URLVia(way[i].Addr()))
		}
	}
	r := &replica{downs: map[string]int{}}
	cfg := c.config(urls)
	cfg.Observer.Down = func(node string, _ error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.downs[node]++
	}
	var err error
	if r.set, err = membership.Open(cfg); err != nil {
		t.Fatal(err)
	}
	if r.Locker, err = redlock.New(r.set, redlock.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = r.set.Run(ctx) })
	t.Cleanup(func() {
		r.Locker.Close()
		cancel()
		running.Wait()
		r.set.Close()
	})
	return r
}

// down returns how often the node has been found down.
func (r *replica) down(node int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.downs[nodeName(node)]
}

// locks counts the nodes that have a lock of the job.
func (c *cluster) locks(t *testing.T) (n int64) {
	t.Helper()
	for _, s := range c.servers {
		n += s.Client().Exists(t.Context(), "{quorate}:job:"+job+":lock").Val()
	}
	return n
}

// request asks for a tick; the zero time for a plain lock.
func (c *cluster) request(tick time.Time) locking.Request {
	return locking.Request{Name: job, Tick: tick, TTL: c.cfg.TTL, Holder: "the holder"}
}

// begun keeps the ticks of a test the same when the hour turns meanwhile.
var begun = time.Now()

// past is the n-th of some ticks that are due.
func past(n int) time.Time {
	return begun.Add(-time.Hour).Truncate(time.Hour).Add(time.Duration(n) * time.Second)
}

// mustClaim tries until the tick is granted: a busy machine may lose votes.
func mustClaim(t *testing.T, r *replica, req locking.Request) (lease locking.Lease) {
	t.Helper()
	var err error
	eventually(t, "a claim is granted", func() bool {
		lease, err = r.TryAcquire(t.Context(), req)
		if final(err) {
			t.Fatalf("a claim that must be granted: %v", err)
		}
		return err == nil
	})
	return lease
}

// final reports whether trying again cannot help.
func final(err error) bool {
	return slices.ContainsFunc([]error{
		locking.ErrDone, locking.ErrSuperseded, locking.ErrUnvouched, locking.ErrRefused,
	}, func(reason error) bool { return errors.Is(err, reason) })
}

// mustRelease tries until the claim is finished.
func mustRelease(t *testing.T, lease locking.Lease) {
	t.Helper()
	eventually(t, "a lease is released", func() bool {
		err := lease.Release(t.Context(), nil)
		late := errors.Is(err, locking.ErrExpired) // a busy machine; the claim is closed all the same
		if errors.Is(err, locking.ErrLeaseLost) {
			t.Fatalf("a lease that must be released: %v", err)
		}
		return err == nil || late
	})
}

// releaseFor is how long a release is tried that may fail.
const releaseFor = 400 * time.Millisecond

// release gives a lease back if a quorum can be reached soon.
func release(t *testing.T, lease locking.Lease) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), releaseFor)
	defer cancel()
	return lease.Release(ctx, nil)
}

// typed reports whether the error of TryAcquire says which reason it had.
func typed(err error) bool {
	var why *locking.AcquireError
	return errors.As(err, &why) && slices.Contains([]error{
		locking.ErrTaken, locking.ErrUnclaimed, locking.ErrClaimed, locking.ErrDone, locking.ErrSuperseded, locking.ErrUnvouched,
		locking.ErrSplit, locking.ErrNoQuorum, locking.ErrRefused, locking.ErrTooSlow, locking.ErrFuture, locking.ErrNodeAhead,
	}, why.Reason)
}
