package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// startAll starts n replicas of a job; the returned function stops them.
func (c *cluster) startAll(n int, change func(*scheduler.Config), list ...jobs.Job) (stop func()) {
	c.t.Helper()
	var stops []func() error
	for i := range n {
		stops = append(stops, c.start(c.replica(fmt.Sprintf("r%d", i+1), change, list...)))
	}
	return func() {
		for _, stop := range stops {
			c.stop(stop)
		}
	}
}

// All replicas are down for six hours: each mode works as documented, and the ledger
// explains each tick.
func TestSixHoursDown(t *testing.T) {
	t.Parallel()
	const nobody = "no replica was known to serve the job"
	tests := []struct {
		name   string
		policy jobs.CatchUp
		want   func(hour int) string // of the ticks 1 h to 7 h
	}{
		{"none", jobs.CatchUp{}, func(int) string { return "missed: " + nobody }},
		{"last", jobs.CatchUp{Mode: jobs.CatchUpLast, Window: 6 * time.Hour}, func(h int) string {
			if h == 7 {
				return "succeeded"
			}
			return "missed: catch_up: last: a later tick came first (" + nobody + ")"
		}},
		{"last, too late", jobs.CatchUp{Mode: jobs.CatchUpLast, Window: time.Minute}, func(int) string {
			return "missed: catch_up: window=1m0s has passed (" + nobody + ")"
		}},
		{"all", jobs.CatchUp{Mode: jobs.CatchUpAll, Window: 7 * time.Hour}, func(int) string { return "succeeded" }},
		{"all within the window", jobs.CatchUp{Mode: jobs.CatchUpAll, Window: 4 * time.Hour}, func(h int) string {
			if h <= 3 {
				return "missed: catch_up: window=4h0m0s has passed (" + nobody + ")"
			}
			return "succeeded"
		}},
		{"all, at most two", jobs.CatchUp{Mode: jobs.CatchUpAll, Window: 7 * time.Hour, Max: 2}, func(h int) string {
			if h <= 5 {
				return "missed: catch_up: more than max=2 (" + nobody + ")"
			}
			return "succeeded"
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				job := every(t, "1h", "j", c.handler(lasting(time.Second)))
				job.CatchUp = tt.policy
				time.Sleep(30 * time.Minute)
				stop := c.startAll(3, nil, job)
				time.Sleep(45 * time.Minute)
				stop()
				time.Sleep(6 * time.Hour) // 7 h 15 min
				stop = c.startAll(3, nil, job)
				time.Sleep(50 * time.Minute)
				stop()
				want := []string{"1h0m0s succeeded"}
				for h := 2; h <= 7; h++ {
					want = append(want, fmt.Sprintf("%dh0m0s %s", h, tt.want(h)))
				}
				c.wantTicks("j", append(want, "8h0m0s succeeded")...)
				c.inOrderAndApart()
			})
		})
	}
}

// inOrderAndApart fails if runs overlapped, ran in another order than their ticks, or if a
// past tick was not run as one.
func (c *cluster) inOrderAndApart() {
	c.t.Helper()
	var last ledger.Entry
	for _, e := range c.ticks("j") {
		if !e.Ran() {
			continue
		}
		if e.Started.Before(last.Finished) {
			c.t.Errorf("tick %v began at %v, before tick %v ended at %v", c.at(e.Tick), c.at(e.Started), c.at(last.Tick), c.at(last.Finished))
		}
		late := e.Started.Sub(e.Tick) > 6*time.Second
		if late != (e.Trigger == ledger.ByCatchUp) {
			c.t.Errorf("tick %v, %v late, has trigger %s", c.at(e.Tick), e.Started.Sub(e.Tick), e.Trigger)
		}
		last = e
	}
}

// Outages of the quorum while replicas stay alive.
func TestCatchUpAfterAnOutage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		policy jobs.CatchUp
		want   []string
	}{
		{"none", jobs.CatchUp{}, []string{
			"10s succeeded", "20s missed: no quorum", "30s missed: no quorum", "40s missed: no quorum", "50s succeeded",
		}},
		{"last", jobs.CatchUp{Mode: jobs.CatchUpLast}, []string{
			"10s succeeded",
			"20s missed: catch_up: last: a later tick came first (no quorum)",
			"30s missed: catch_up: last: a later tick came first (no quorum)",
			"40s succeeded", "50s succeeded",
		}},
		{"all", jobs.CatchUp{Mode: jobs.CatchUpAll}, []string{
			"10s succeeded", "20s succeeded", "30s succeeded", "40s succeeded", "50s succeeded",
		}},
		{"all, at most one", jobs.CatchUp{Mode: jobs.CatchUpAll, Max: 1}, []string{
			"10s succeeded", "20s missed: catch_up: more than max=1 (no quorum)", "30s missed: catch_up: more than max=1 (no quorum)",
			"40s succeeded", "50s succeeded",
		}},
		{"all, not so late", jobs.CatchUp{Mode: jobs.CatchUpAll, Window: 15 * time.Second}, []string{
			"10s succeeded", "20s missed: catch_up: window=15s has passed (no quorum)", "30s missed: catch_up: window=15s has passed (no quorum)",
			"40s succeeded", "50s succeeded",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.locker = outage{c.locks, c.begun.Add(15 * time.Second), c.begun.Add(47 * time.Second)}
				job := every(t, "10s", "j", c.handler(nil))
				job.CatchUp = tt.policy
				stop := c.startAll(3, nil, job)
				time.Sleep(59 * time.Second)
				stop()
				c.wantTicks("j", tt.want...)
			})
		})
	}
}

// outage is a Locker with a temporary loss of quorum.
type outage struct {
	locking.Locker
	from, to time.Time
}

func (o outage) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if now := time.Now(); now.After(o.from) && now.Before(o.to) {
		return nil, &locking.AcquireError{Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 1}}
	}
	return o.Locker.TryAcquire(ctx, req)
}

// A replica that slept does not repeat what others ran meanwhile, and catches up the rest.
func TestCatchUpAfterASuspend(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("alone: %t", alone), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				job := every(t, "10s", "j", c.handler(nil))
				job.CatchUp.Mode = jobs.CatchUpAll
				r, ahead := c.jumping(job)
				stop := c.start(r)
				time.Sleep(15 * time.Second)
				if !alone {
					other := c.replica("r2", nil, job)
					other.Suspend(func() time.Duration { return time.Duration(ahead.Load()) })
					defer c.stop(c.start(other))
				}
				ahead.Store(int64(30 * time.Second)) // wakes at 50 s by the wall
				time.Sleep(17 * time.Second)         // 62 s by the wall
				c.stop(stop)
				c.wantTicks("j", "10s succeeded", "20s succeeded", "30s succeeded", "40s succeeded", "50s succeeded", "1m0s succeeded")
			})
		})
	}
}

// Many jobs are caught up at once, but not at one instant; each one's ticks run in
// sequence.
func TestCatchUpIsNoFlood(t *testing.T) {
	t.Parallel()
	const many = 300
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var list []jobs.Job
		perSecond := map[time.Duration]int{}
		for i := range many {
			job := every(t, "1m", fmt.Sprintf("j%03d", i), c.handler(func(_ context.Context, run jobs.Run) error {
				if run.Trigger == string(ledger.ByCatchUp) {
					c.mu.Lock()
					perSecond[c.at(time.Now()).Truncate(100*time.Millisecond)]++
					c.mu.Unlock()
				}
				return nil
			}))
			job.CatchUp.Mode = jobs.CatchUpAll
			list = append(list, job)
		}
		stop := c.startAll(2, nil, list...)
		time.Sleep(90 * time.Second)
		stop()
		time.Sleep(10 * time.Minute) // 11 min 30 s
		stop = c.startAll(2, nil, list...)
		time.Sleep(time.Minute)
		stop()
		var most, sum int
		for _, n := range perSecond {
			most, sum = max(most, n), sum+n
		}
		if sum != 10*many || most > 10*many/20 {
			t.Errorf("%d runs were caught up, want %d; %d of them within 100 ms", sum, 10*many, most)
		}
		for _, j := range []string{"j000", "j123"} {
			if i := slices.IndexFunc(c.ticks(j), func(e ledger.Entry) bool { return e.Outcome != ledger.Succeeded }); i >= 0 {
				t.Errorf("%s: %+v", j, c.ticks(j)[i])
			}
		}
	})
}

// Ticks just before a start are caught up like the rest, even within their window: the
// current run does not make them skip.
func TestCatchUpWithinTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		time.Sleep(10 * time.Second)
		c.die(locking.AtMostOnce, 25*time.Second)
		time.Sleep(11 * time.Second)
		job := every(t, "10s", "j", c.handler(nil))
		job.CatchUp.Mode = jobs.CatchUpAll
		stop := c.startAll(2, nil, job)
		time.Sleep(23 * time.Second) // 44 s
		stop()
		c.wantTicks("j", "10s interrupted: the lease ended before the run reported an outcome",
			"20s succeeded", "30s succeeded", "40s succeeded")
	})
}
