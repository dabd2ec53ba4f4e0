package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// limitedNodes have a limited capacity: each answers one request after the other, also
// those that nobody awaits any more.
type limitedNodes struct {
	locking.Watcher
	takes   time.Duration // one request at one node
	timeout time.Duration // of the callers

	mu    sync.Mutex
	nodes [5]time.Time // when it has answered all requests so far
	asked int
}

// ask sends a request to a node, and returns the time of its answer.
func (n *limitedNodes) ask(node int) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if now := time.Now(); n.nodes[node].Before(now) {
		n.nodes[node] = now
	}
	n.nodes[node] = n.nodes[node].Add(n.takes)
	return n.nodes[node]
}

// requests returns the number of requests.
func (n *limitedNodes) requests() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// burst keeps all nodes busy with other work.
func (n *limitedNodes) burst(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.nodes {
		n.nodes[i] = time.Now().Add(d)
	}
}

// await waits for the given number of earliest answers, at most until the timeout, and
// reports whether they came.
func (n *limitedNodes) await(answers []time.Time, wanted int) bool {
	slices.SortFunc(answers, time.Time.Compare)
	in := time.Until(answers[wanted-1])
	time.Sleep(min(in, n.timeout))
	return in <= n.timeout
}

// round asks all nodes, and reports whether a quorum answered.
func (n *limitedNodes) round() bool {
	answers := make([]time.Time, len(n.nodes))
	for i := range answers {
		answers[i] = n.ask(i)
	}
	return n.await(answers, 3)
}

func (n *limitedNodes) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	err := error(&locking.AcquireError{Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 5}})
	if n.round() && (req.Direct || n.round()) {
		var l locking.Lease
		if l, err = n.Watcher.TryAcquire(ctx, req); err == nil {
			return limitedLease{l, n}, nil
		}
	}
	n.round() // takes back its votes
	return nil, err
}

// limitedLease is a lease on such nodes.
type limitedLease struct {
	locking.Lease
	*limitedNodes
}

func (l limitedLease) Release(ctx context.Context, note []byte) error {
	for !l.round() {
		time.Sleep(l.timeout / 4)
	}
	return l.Lease.Release(ctx, note)
}

func (l limitedLease) Extend(ctx context.Context) error {
	if !l.round() {
		return locking.ErrNoQuorum
	}
	return l.Lease.Extend(ctx)
}

func (n *limitedNodes) Watch(req locking.Request, start uint64) locking.Watch {
	return &limitedLocker{n.Watcher.Watch(req, start), n, int(start % 5)}
}

type limitedLocker struct {
	locking.Watch
	*limitedNodes
	next int
}

func (w *limitedLocker) Look(ctx context.Context) error {
	answer := w.ask(w.next)
	w.next = (w.next + 1) % 5
	if !w.await([]time.Time{answer}, 1) {
		return &locking.AcquireError{Reason: locking.ErrSilent}
	}
	return w.Watch.Look(ctx)
}

// A limitedLedger is on such nodes, too.
type limitedLedger struct {
	ledger.Store
	*limitedNodes
}

func (l limitedLedger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	if !l.round() {
		return false, locking.ErrNoQuorum
	}
	return l.Store.Record(ctx, e)
}

// The replicas' normal load is below a sixth of the nodes' capacity. After the nodes were
// busy for some seconds, everything recovers by itself: unanswered requests do not make
// replicas send more than nodes can answer.
func TestOverloadEnds(t *testing.T) {
	t.Parallel()
	for _, burst := range []time.Duration{time.Second, 4 * time.Second} {
		t.Run(burst.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const before, well = 10 * time.Second, 2 * time.Second
				c := newCluster(t)
				n := &limitedNodes{Watcher: c.locks, takes: time.Millisecond, timeout: 200 * time.Millisecond}
				c.locker = n
				list := many(t, c, 25, "1s")
				stop := c.startAll(20, func(cfg *scheduler.Config) {
					cfg.TTL, cfg.Ledger = 15*time.Second, limitedLedger{c.ledger, n}
				}, list...)
				time.Sleep(before - 100*time.Millisecond)
				asked := n.requests()
				n.burst(burst)
				time.Sleep(burst + well)
				after, recovered := time.Since(c.begun), n.requests()
				time.Sleep(10 * time.Second)
				t.Logf("%d requests in %v, %d in %v, %d in 10s", asked, before, recovered-asked, burst+well, n.requests()-recovered)
				stop()
				c.wantNoneLost(list, 2*time.Second, before)
				c.wantNoneLost(list, after, after+9*time.Second)
			})
		})
	}
}

// wantNoneLost fails if a tick in that time, since the cluster's begin, did not run.
func (c *cluster) wantNoneLost(list []jobs.Job, from, before time.Duration) {
	c.t.Helper()
	lost := map[string]int{}
	for _, j := range list {
		ran := map[time.Duration]bool{}
		for _, e := range c.ticks(j.Name) {
			ran[c.at(e.Tick)] = e.Ran()
		}
		for at := from.Truncate(time.Second) + time.Second; at < before; at += time.Second {
			if !ran[at] {
				lost[fmt.Sprint(at)]++
			}
		}
	}
	if len(lost) > 0 {
		c.t.Errorf("from %v to %v ticks were lost, so many at each instant: %v", from, before, lost)
	}
}
