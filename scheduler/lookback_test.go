package scheduler_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// cutable is a Locker whose nodes do not answer while it is cut off.
type cutable struct {
	locking.Watcher
	cut atomic.Bool
}

func (l *cutable) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if l.cut.Load() {
		return nil, &locking.AcquireError{Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 1}}
	}
	return l.Watcher.TryAcquire(ctx, req)
}

func (l *cutable) Watch(req locking.Request, spread uint64) locking.Watch {
	if l.cut.Load() {
		return noView{}
	}
	return l.Watcher.Watch(req, spread)
}

// noView is the view without nodes.
type noView struct{}

func (noView) Look(context.Context) error { return locking.ErrSilent }

// The winner dies unwatched: the others gave the tick up before they learned of its claim.
// The replica that claims a later tick first reruns the dead one's tick, whether the lease
// blocks it or has just expired.
func TestRerunOfWhatNobodyWatched(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		overlap jobs.Overlap
		ttl     time.Duration // of the dead replica's lease
		want    []string
	}{
		{"the lease has run out by then", jobs.OverlapSkip, 8 * time.Second, []string{"10s 2", "20s 1", "30s 1", "40s 1"}},
		{"and does so at that instant", jobs.OverlapSkip, 10 * time.Second, []string{"10s 2", "20s 1", "30s 1", "40s 1"}},
		{"it ends while the next one waits", jobs.OverlapSkip, 13 * time.Second, []string{"10s 2", "20s 1", "30s 1", "40s 1"}},
		{"it ends when that was skipped", jobs.OverlapSkip, 23 * time.Second, []string{"10s 2", "30s 1", "40s 1"}},
		{"or was queued", jobs.OverlapQueue, 18 * time.Second, []string{"10s 2", "20s 1", "30s 1", "40s 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				nodes := &cutable{Watcher: c.locks}
				c.locker = nodes
				stop := c.startAll(3, nil, rerunning(t, c, tt.overlap, 0))
				time.Sleep(9 * time.Second)
				nodes.cut.Store(true)
				time.Sleep(time.Second - time.Millisecond)
				dead := c.die(locking.AtLeastOnce, tt.ttl)
				time.Sleep(8 * time.Second)
				c.saw(3, "missed j 10s: no quorum")
				nodes.cut.Store(false)
				time.Sleep(27 * time.Second) // 45 s
				stop()
				var got []string
				for _, e := range c.ticks("j") {
					if e.Outcome == ledger.Succeeded {
						got = append(got, c.at(e.Tick).String()+" "+string(rune('0'+e.Attempt)))
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("succeeded, with their attempts: %q, want %q", got, tt.want)
				}
				if first := c.ticks("j")[0]; first.Token <= dead.Claim().Token || first.Trigger != ledger.ByRerun {
					t.Errorf("the first tick: %+v", first)
				}
			})
		})
	}
}

// If the earlier tick cannot be rerun, it is tried once, and the later ones continue.
func TestLookBackOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		nodes := &cutable{Watcher: c.locks}
		c.locker = unvouching{nodes, c.begun.Add(10 * time.Second)}
		ledger := &slowLedger{Store: c.ledger}
		stop := c.startAll(1, func(cfg *scheduler.Config) { cfg.Ledger = ledger }, rerunning(t, c, jobs.OverlapSkip, 0))
		time.Sleep(9 * time.Second)
		nodes.cut.Store(true)
		time.Sleep(time.Second - time.Millisecond)
		c.die(locking.AtLeastOnce, 5*time.Second)
		time.Sleep(8 * time.Second)
		nodes.cut.Store(false)
		reads := ledger.reads.Load()
		time.Sleep(27 * time.Second) // 45 s
		stop()
		c.saw(1, "missed j 10s: unvouched")
		for _, tick := range []string{"20s", "30s", "40s"} {
			c.saw(1, "finished j "+tick+" succeeded")
		}
		if reads = ledger.reads.Load() - reads; reads > 2 {
			t.Errorf("the ledger was read %d times for one tick, want twice", reads)
		}
	})
}

// unvouching is a Locker whose nodes have forgotten one tick.
type unvouching struct {
	*cutable
	tick time.Time
}

func (l unvouching) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if req.Tick.Equal(l.tick) && !l.cut.Load() {
		return nil, &locking.AcquireError{Reason: locking.ErrUnvouched, Name: req.Name}
	}
	return l.cutable.TryAcquire(ctx, req)
}

// slowLedger counts its slow reads.
type slowLedger struct {
	ledger.Store
	reads atomic.Int32
	takes atomic.Int64
}

func (l *slowLedger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	l.reads.Add(1)
	if d := time.Duration(l.takes.Load()); d > 0 {
		time.Sleep(d)
	}
	return l.Store.Ticks(ctx, q)
}

// A tick that waits for another is recorded when the replica drains or the job is removed
// meanwhile.
func TestLookBackAndLeave(t *testing.T) {
	t.Parallel()
	for _, leave := range []string{"drain", "removal"} {
		t.Run(leave, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				nodes := &cutable{Watcher: c.locks}
				c.locker = nodes
				ledger := &slowLedger{Store: c.ledger}
				s := c.replica("r1", func(cfg *scheduler.Config) { cfg.Ledger = ledger }, rerunning(t, c, jobs.OverlapSkip, 0))
				stop := c.start(s)
				time.Sleep(9 * time.Second)
				nodes.cut.Store(true)
				time.Sleep(time.Second - time.Millisecond)
				c.die(locking.AtLeastOnce, 5*time.Second)
				time.Sleep(8 * time.Second)
				nodes.cut.Store(false)
				ledger.takes.Store(int64(2 * time.Second))
				time.Sleep(3 * time.Second) // 21 s
				why := "missed j 20s: this replica drained"
				if leave == "removal" {
					why = "skipped j 20s: removed"
					if _, err := s.Update(nil); err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Second)
				}
				c.stop(stop)
				c.saw(1, why)
				c.saw(0, "claimed j")
			})
		})
	}
}
