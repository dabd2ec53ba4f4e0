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

// jumping returns a replica whose wall clock runs ahead by the returned value.
func (c *cluster) jumping(list ...jobs.Job) (*scheduler.Scheduler, *atomic.Int64) {
	ahead := new(atomic.Int64)
	r := c.replica("r1", nil, list...)
	r.Suspend(func() time.Duration { return time.Duration(ahead.Load()) })
	return r, ahead
}

func TestSuspend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r, ahead := c.jumping(every(t, "10s", "j", c.handler(nil)))
		stop := c.start(r)
		time.Sleep(15 * time.Second)
		ahead.Store(int64(30 * time.Second)) // wakes at 50 s by the wall
		time.Sleep(16 * time.Second)         // 61 s by the wall
		c.stop(stop)
		c.saw(1, "jumped 30s")
		const asleep = "missed: this replica was asleep, stopped or too busy until the tick's window had closed"
		c.wantTicks("j", "10s succeeded", "20s "+asleep, "30s "+asleep, "40s "+asleep, "50s succeeded", "1m0s succeeded")
	})
}

// A night of sleep causes neither many runs nor many records.
func TestNight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r, ahead := c.jumping(every(t, "1s", "j", c.handler(nil)))
		stop := c.start(r)
		time.Sleep(2500 * time.Millisecond)
		ahead.Store(int64(8 * time.Hour))
		time.Sleep(2 * time.Second)
		c.stop(stop)
		c.saw(scheduler.MaxOverslept+1, "missed j")
		c.saw(1, "overslept j 3s to 7h58m23s")
		c.saw(4, "claimed j") // 1 s, 2 s, and two after the night
	})
}

// When the clock is set back, ticks come again, and none runs twice.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r, ahead := c.jumping(every(t, "1s", "j", c.handler(nil)))
		stop := c.start(r)
		time.Sleep(10500 * time.Millisecond)
		ahead.Store(int64(-5 * time.Second)) // 5.5 s again
		time.Sleep(8 * time.Second)          // 13.5 s by the wall
		c.stop(stop)
		c.saw(1, "jumped -5s")
		var ran []time.Duration
		for _, run := range c.runs {
			ran = append(ran, c.at(run.Tick))
		}
		var want []time.Duration
		for s := 1; s <= 13; s++ {
			want = append(want, time.Duration(s)*time.Second)
		}
		if !slices.Equal(ran, want) {
			t.Errorf("ran %v\nwant %v", ran, want)
		}
		for _, e := range c.ticks("j") {
			if e.Outcome != ledger.Succeeded {
				t.Errorf("tick %v: %s %s", c.at(e.Tick), e.Outcome, e.Reason)
			}
		}
	})
}

// A replica whose clock was an hour ahead when it first could run ticks misses those that it could not
// run once its clock is right, like any other.
func TestFirstTicksOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum}, repeat: true}
		r, ahead := c.jumping(every(t, "10m", "j", c.handler(nil)))
		ahead.Store(int64(time.Hour))
		stop := c.start(r)
		time.Sleep(30 * time.Second)
		ahead.Store(0)
		time.Sleep(21 * time.Minute)
		c.stop(stop)
		c.saw(1, "jumped -1h0m0s")
		c.wantTicks("j", "10m0s missed: no quorum: a: down", "20m0s missed: no quorum: a: down")
	})
}

// A machine that was suspended during a claim does not continue after the tick's window.
func TestSuspendWhileClaiming(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		m := &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum}, repeat: true}
		c.locker = m
		r, ahead := c.jumping(every(t, "20s", "j", c.handler(nil)))
		stop := c.start(r)
		time.Sleep(21 * time.Second)
		ahead.Store(int64(15 * time.Second))
		synctest.Wait()
		tries := len(m.asked)
		time.Sleep(3 * time.Second)
		c.stop(stop)
		if got := len(m.asked); tries == 0 || got != tries {
			t.Errorf("%d tries before the suspend, %d after it", tries, got-tries)
		}
		c.wantTicks("j", "20s missed: no quorum: a: down")
	})
}

// punctual is a Locker whose nodes refuse ticks ahead of their clocks.
type punctual struct{ locks locking.Watcher }

func (p punctual) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if req.Tick.After(time.Now().Add(10 * time.Second)) {
		return nil, &locking.AcquireError{Reason: locking.ErrFuture, Name: req.Name}
	}
	return p.locks.TryAcquire(ctx, req)
}

// A clock that was wrong by an hour and is fixed costs the ticks until then, not those of
// the next hour.
func TestClockMended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = punctual{c.locks}
		r, ahead := c.jumping(every(t, "1s", "j", c.handler(nil)))
		stop := c.start(r)
		time.Sleep(5500 * time.Millisecond)
		ahead.Store(int64(time.Hour))
		time.Sleep(3 * time.Second)
		ahead.Store(0)
		time.Sleep(20 * time.Second) // 28.5 s; the loop checks every 15 s at the latest
		c.stop(stop)
		c.saw(1, "jumped 1h0m0s")
		c.saw(1, "jumped -1h0m0s")
		if last := c.runs[len(c.runs)-1].Tick; c.at(last) != 28*time.Second {
			t.Errorf("the last tick that ran is %v", c.at(last))
		}
	})
}
