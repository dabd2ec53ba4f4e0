package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Every replica delays a tick by the same time, below the jitter; the tick keeps
// its nominal time.
func TestJitterDelaysTheStart(t *testing.T) {
	t.Parallel()
	const jitter = 8 * time.Second
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "10s", "j", c.handler(nil))
		job.Jitter = jitter
		a := c.start(c.replica("r1", nil, job))
		b := c.start(c.replica("r2", nil, job))
		time.Sleep(10*time.Minute - time.Millisecond)
		c.stop(a)
		c.stop(b)
		list := c.ticks("j")
		if len(list) != 60 { // the first had come already, and not started
			t.Fatalf("%d ticks in ten minutes, want 60", len(list))
		}
		for i, e := range list {
			at := c.begun.Add(time.Duration(i) * 10 * time.Second)
			start := at.Add(scheduler.Jitter("j", at, jitter))
			if !e.Tick.Equal(at) || e.Outcome != ledger.Succeeded {
				t.Errorf("tick %d: %v %s %s", i, c.at(e.Tick), e.Outcome, e.Reason)
			}
			if late := e.Started.Sub(start); late < 0 || late > 20*time.Millisecond {
				t.Errorf("tick %v started at %v, want %v or a rank later", c.at(at), c.at(e.Started), c.at(start))
			}
		}
	})
}

// A jitter larger than the time between ticks does not bring them out of order.
func TestJitterStaysBelowTheNextTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "1s", "j", c.handler(nil))
		job.Jitter = time.Minute
		stop := c.start(c.replica("r1", nil, job))
		time.Sleep(30 * time.Second)
		c.stop(stop)
		for i, e := range c.ticks("j") {
			if want := time.Duration(i) * time.Second; c.at(e.Tick) != want || e.Outcome != ledger.Succeeded || e.Started.Sub(e.Tick) >= time.Second {
				t.Errorf("tick %d is %v %s, started at %v", i, c.at(e.Tick), e.Outcome, c.at(e.Started))
			}
		}
	})
}

// A tick between its nominal time and its start survives a restart of the only replica.
func TestRestartWithinTheJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "1h", "j", c.handler(nil))
		job.Jitter = 30 * time.Minute
		at := c.begun.Add(time.Hour)
		start := at.Add(scheduler.Jitter("j", at, job.Jitter))
		first := c.start(c.replica("r1", nil, job))
		time.Sleep(time.Until(start) - time.Second)
		c.stop(first)
		second := c.start(c.replica("r2", nil, job))
		time.Sleep(2 * time.Second)
		c.stop(second)
		c.wantTicks("j", "0s succeeded", "1h0m0s succeeded")
	})
}
