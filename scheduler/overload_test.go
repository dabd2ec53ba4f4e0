package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Nodes that carry so much and no more: each answers one request after the other,
// also those for which nobody waits any more.
type toil struct {
	*locktest.Memory
	takes   time.Duration // one request at one node
	timeout time.Duration // of those who ask

	mu    sync.Mutex
	nodes [5]time.Time // has answered all that it was asked by then
	asked int
}

// ask sends a request to a node, and returns when it is answered.
func (n *toil) ask(node int) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if now := time.Now(); n.nodes[node].Before(now) {
		n.nodes[node] = now
	}
	n.nodes[node] = n.nodes[node].Add(n.takes)
	return n.nodes[node]
}

// requests is how many there were.
func (n *toil) requests() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// burst has other work keep all nodes busy.
func (n *toil) burst(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.nodes {
		n.nodes[i] = time.Now().Add(d)
	}
}

// await waits for the last of so many answers, the earliest ones, at most until the
// timeout, and tells whether they came.
func (n *toil) await(answers []time.Time, wanted int) bool {
	slices.SortFunc(answers, time.Time.Compare)
	in := time.Until(answers[wanted-1])
	time.Sleep(min(in, n.timeout))
	return in <= n.timeout
}

// round asks all nodes, and tells whether a quorum answered.
func (n *toil) round() bool {
	answers := make([]time.Time, len(n.nodes))
	for i := range answers {
		answers[i] = n.ask(i)
	}
	return n.await(answers, 3)
}

func (n *toil) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	err := error(&locking.AcquireError{Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 5}})
	if n.round() && (req.Direct || n.round()) {
		var l locking.Lease
		if l, err = n.Memory.TryAcquire(ctx, req); err == nil {
			return toiled{l, n}, nil
		}
	}
	n.round() // takes back what it has left
	return nil, err
}

// toiled is a lease that such nodes keep.
type toiled struct {
	locking.Lease
	*toil
}

func (l toiled) Release(ctx context.Context, note []byte) error {
	for !l.round() {
		time.Sleep(l.timeout / 4)
	}
	return l.Lease.Release(ctx, note)
}

func (l toiled) Extend(ctx context.Context) error {
	if !l.round() {
		return locking.ErrNoQuorum
	}
	return l.Lease.Extend(ctx)
}

func (n *toil) Watch(req locking.Request, start uint64) locking.Watch {
	return &toilsome{n.Memory.Watch(req, start), n, int(start % 5)}
}

type toilsome struct {
	locking.Watch
	*toil
	next int
}

func (w *toilsome) Look(ctx context.Context) error {
	answer := w.ask(w.next)
	w.next = (w.next + 1) % 5
	if !w.await([]time.Time{answer}, 1) {
		return &locking.AcquireError{Reason: locking.ErrSilent}
	}
	return w.Watch.Look(ctx)
}

// A toiled ledger is on such nodes, too.
type toiledLedger struct {
	ledger.Store
	*toil
}

func (l toiledLedger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	if !l.round() {
		return false, locking.ErrNoQuorum
	}
	return l.Store.Record(ctx, e)
}

// Replicas that ask nodes for less than a sixth of what they carry: when the nodes
// have been kept busy for some seconds, all is as before soon after, by itself. What
// was not answered does not make replicas ask for more than nodes can answer.
func TestOverloadEnds(t *testing.T) {
	t.Parallel()
	for _, burst := range []time.Duration{time.Second, 4 * time.Second} {
		t.Run(burst.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const before, well = 10 * time.Second, 2 * time.Second
				c := newCluster(t)
				n := &toil{Memory: c.locks, takes: time.Millisecond, timeout: 200 * time.Millisecond}
				c.locker = n
				list := many(t, c, 25, "1s")
				stop := c.startAll(20, func(cfg *scheduler.Config) {
					cfg.TTL, cfg.Ledger = 15*time.Second, toiledLedger{c.ledger, n}
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

// wantNoneLost fails if a tick of that time, since the cluster's begin, did not run.
func (c *cluster) wantNoneLost(list []scheduler.Job, from, before time.Duration) {
	c.t.Helper()
	lost := map[string]int{}
	for _, j := range list {
		ran := map[time.Duration]bool{}
		for _, e := range c.ticks(j.Name) {
			ran[c.at(e.Tick)] = e.Outcome.Ran()
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
