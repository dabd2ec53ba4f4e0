package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A reader is a ledger that records its reads.
type reader struct {
	ledger.Store

	mu    sync.Mutex
	times []time.Time
}

func (r *reader) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	r.mu.Lock()
	r.times = append(r.times, time.Now())
	r.mu.Unlock()
	return r.Store.Ticks(ctx, q)
}

// reads returns their number, and the largest number in any span of that length.
func (r *reader) reads(span time.Duration) (all, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := 0
	for i, at := range r.times {
		for at.Sub(r.times[first]) >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return len(r.times), most
}

// downFor runs the jobs once, at 30 min, and continues after their ticks at 1 h and 1.5 h
// passed without a replica.
func (c *cluster) downFor(list []jobs.Job) {
	time.Sleep(29 * time.Minute)
	stop := c.startAll(1, nil, list...)
	time.Sleep(2 * time.Minute)
	stop()
	time.Sleep(time.Hour)
}

// wantDown fails unless exactly that many jobs have their ticks of that time in the ledger,
// as ticks without a replica.
func (c *cluster) wantDown(when string, list []jobs.Job, want int) {
	c.t.Helper()
	known := 0
	for _, j := range list {
		missed := 0
		for _, e := range c.ticks(j.Name) {
			if e.Outcome == ledger.Missed && e.Reason.Code == ledger.CodeNoReplica {
				missed++
			}
		}
		if missed == 2 {
			known++
		}
	}
	if known != want {
		c.t.Errorf("%s: %d of %d jobs are accounted for, want %d", when, known, len(list), want)
	}
}

// If many replicas start at once, the past of each job is read once, and slowly.
func TestPastIsReadByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		list := many(t, c, 200, "30m")
		c.downFor(list)
		r := &reader{Store: c.ledger}
		stop := c.startAll(5, func(cfg *scheduler.Config) { cfg.Ledger = r }, list...)
		time.Sleep(20 * time.Second)
		if n, burst := r.reads(100 * time.Millisecond); n != len(list) || burst > 30 {
			t.Errorf("the ledger was read %d times, up to %d of them in 100 ms; want %d and about 20", n, burst, len(list))
		}
		c.wantDown("20 s after the start", list, len(list))
		stop()
	})
}

// The other replicas take over the scans of a replica that dies before its turn.
func TestPastOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		list := many(t, c, 30, "30m")
		c.downFor(list)
		survivor := c.start(c.replica("r1", nil, list...))
		dies := c.start(c.replica("r2", func(cfg *scheduler.Config) { cfg.Ledger = unreadableLedger{c.ledger} }, list...))
		time.Sleep(20 * time.Second)
		first := 0
		for _, j := range list {
			if scheduler.Rank(j.Name, time.Time{}, "r1", []string{"r1", "r2"}) == 0 {
				first++
			}
		}
		c.wantDown("while the other one lives", list, first)
		if first == 0 || first == len(list) {
			t.Fatal("one of them is first for all")
		}
		c.stop(dies)
		time.Sleep(2 * time.Minute)
		c.wantDown("after the other one has died", list, len(list))
		c.stop(survivor)
	})
}

// If the ledger can be read only after the end of catch-up, missed ticks are still
// recorded.
func TestPastThatIsReadTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		list := many(t, c, 3, "30m")
		for i := range list {
			list[i].CatchUp = jobs.CatchUp{Mode: jobs.CatchUpAll, Window: 20 * time.Minute}
		}
		c.downFor(list)
		hears := &readableLater{Store: c.ledger, at: time.Now().Add(time.Hour)}
		stop := c.startAll(2, func(cfg *scheduler.Config) { cfg.Ledger = hears }, list...)
		time.Sleep(70 * time.Minute)
		stop()
		for _, j := range list {
			const late = "missed: catch_up: window=20m0s has passed "
			c.wantTicks(j.Name, "30m0s succeeded", "1h0m0s "+late+"(no replica was known to serve the job)", "1h30m0s "+late+"(no replica was known to serve the job)",
				"2h0m0s "+late+"(an earlier tick of the job was still being decided on this replica)", "2h30m0s succeeded")
		}
	})
}

// A readableLater ledger cannot be read until then.
type readableLater struct {
	ledger.Store
	at time.Time
}

func (l *readableLater) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if time.Now().Before(l.at) {
		return unreadableLedger{}.Ticks(ctx, q)
	}
	return l.Store.Ticks(ctx, q)
}

// An unreadableLedger cannot be read.
type unreadableLedger struct{ ledger.Store }

func (unreadableLedger) Ticks(context.Context, ledger.Query) ([]ledger.Entry, error) {
	return nil, fmt.Errorf("unreadable: %w", context.DeadlineExceeded)
}
