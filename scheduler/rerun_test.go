package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// die claims the job's tick at 10 s for a replica that then dies.
func (c *cluster) die(mode locking.Mode, ttl time.Duration) locking.Lease {
	c.t.Helper()
	return c.dieIn(10*time.Second, mode, ttl)
}

func (c *cluster) dieIn(tick time.Duration, mode locking.Mode, ttl time.Duration) locking.Lease {
	c.t.Helper()
	lease, err := c.locks.TryAcquire(c.t.Context(), locking.Request{
		Name: "j", Tick: c.begun.Add(tick), TTL: ttl, Holder: "dead", Mode: mode,
		Note: ledger.EncodeNote(ledger.Entry{Outcome: ledger.Running, Replica: "dead", Trigger: ledger.BySchedule}),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return lease
}

// rerunning is a job every 10 s with runs of that duration.
func rerunning(t *testing.T, c *cluster, overlap jobs.Overlap, lasts time.Duration) jobs.Job {
	t.Helper()
	job := every(t, "10s", "j", c.handler(lasting(lasts)))
	job.OnCrash, job.Overlap = jobs.CrashRerun, overlap
	return job
}

// The winner dies: another replica runs the tick again, with a larger token and the next
// attempt, soon after the end of the lease. Later ticks wait by their policy.
func TestRerun(t *testing.T) {
	t.Parallel()
	const (
		ranOut = "10s interrupted: the lease ended before the run reported an outcome"
		held   = "overlap: dead still holds the lease of tick 2000-01-01T00:00:10Z"
	)
	tests := []struct {
		name    string
		overlap jobs.Overlap
		ttl     time.Duration // of the dead replica's lease
		lasts   time.Duration // the second run
		ledger  []string
	}{
		{"in time for the next tick", jobs.OverlapSkip, 5 * time.Second, 0, []string{"10s succeeded", "20s succeeded", "30s succeeded"}},
		{"the next tick waits", jobs.OverlapSkip, 12 * time.Second, 0, []string{"10s succeeded", "20s succeeded", "30s succeeded"}},
		{"and is skipped", jobs.OverlapSkip, 17 * time.Second, time.Second, []string{"10s succeeded", "20s skipped: " + held + " until 2000-01-01T00:00:26.999Z", "30s succeeded"}},
		{"and is queued", jobs.OverlapQueue, 17 * time.Second, time.Second, []string{"10s succeeded", "20s succeeded", "30s succeeded"}},
		{"a second one is queued", jobs.OverlapQueue, 21 * time.Second, time.Second, []string{
			"10s succeeded", "20s skipped: overlap: queue holds one tick, a later one came", "30s succeeded",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				stop := c.startAll(3, nil, rerunning(t, c, tt.overlap, tt.lasts))
				time.Sleep(10*time.Second - time.Millisecond) // its clock is ahead
				dead := c.die(locking.AtLeastOnce, tt.ttl)
				time.Sleep(29 * time.Second)
				stop()
				c.wantTicks("j", tt.ledger...)
				second := c.ticks("j")[0]
				runs, err := c.ledger.Runs(t.Context(), ledger.Query{Job: "j", Limit: 100})
				if err != nil {
					t.Fatal(err)
				}
				first := runs[len(runs)-1]
				if first.Outcome != ledger.Interrupted || first.Attempt != 1 || !first.Tick.Equal(second.Tick) {
					t.Errorf("the first attempt: %+v; want %s", first, ranOut)
				}
				if second.Attempt != 2 || second.Token <= dead.Claim().Token || second.Trigger != ledger.ByRerun {
					t.Errorf("the second attempt: %+v", second)
				}
				if after := c.at(second.Started) - 10*time.Second - tt.ttl; after < -time.Millisecond || after > 3*time.Second {
					t.Errorf("it began %v after the end of the lease", after)
				}
				if err := dead.Release(t.Context(), nil); err == nil {
					t.Error("the dead one's word was accepted")
				}
			})
		})
	}
}

// A long run is watched, not repeated, and its end is soon known.
func TestNoRerunOfALongRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		stop := c.startAll(3, nil, rerunning(t, c, jobs.OverlapSkip, 14*time.Second))
		time.Sleep(49 * time.Second)
		stop()
		if len(c.runs) != 3 {
			t.Errorf("%d runs, want those of 10s, 20s and 40s", len(c.runs))
		}
		for _, e := range c.ticks("j") {
			if e.Ran() && (e.Attempt != 1 || e.Trigger != ledger.BySchedule) {
				t.Errorf("ran again: %+v", e)
			}
		}
	})
}

// cutOff is a Locker whose first lease cannot be extended, nor, if mute, released: its
// replica is alive, but cannot reach the nodes.
type cutOff struct {
	locking.Locker
	mute  bool
	taken *atomic.Bool
}

func (l cutOff) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := l.Locker.TryAcquire(ctx, req)
	switch {
	case err != nil || l.taken.Swap(true):
		return lease, err
	case l.mute:
		return muteLease{fixedTermLease{lease}}, nil
	}
	return fixedTermLease{lease}, nil
}

// A live replica loses the lease of its run. If it can record that, the run has ended as
// lease_lost and is not repeated; otherwise it is as if the replica had died.
func TestRerunOfALostLease(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		mute bool
		runs []string // of the tick at 10 s, the last first
	}{
		{"its end is told", false, []string{"1 lease_lost"}},
		{"its end cannot be told", true, []string{"2 succeeded", "1 interrupted"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.locker = cutOff{c.locks, tt.mute, new(atomic.Bool)}
				job := every(t, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
					if run.Attempt == 1 && c.at(run.Tick) == 10*time.Second {
						return untilEnd(ctx, run)
					}
					return nil
				}))
				job.OnCrash = jobs.CrashRerun
				stop := c.startAll(3, nil, job)
				time.Sleep(29 * time.Second)
				stop()
				runs, err := c.ledger.Runs(t.Context(), ledger.Query{Job: "j", Limit: 100, Before: c.begun.Add(11 * time.Second)})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range runs {
					got = append(got, fmt.Sprintf("%d %s", e.Attempt, e.Outcome))
				}
				if !slices.Equal(got, tt.runs) {
					t.Errorf("the ledger has the runs %q, want %q", got, tt.runs)
				}
				if last := c.ticks("j")[1]; c.at(last.Tick) != 20*time.Second || last.Outcome != ledger.Succeeded {
					t.Errorf("the next tick: %+v", last)
				}
			})
		})
	}
}

// A run that goes on after its lease blocks no other replica. One claims the next tick and dies:
// the tick runs again before a later one, although this replica skipped it behind its own run.
func TestRerunBehindARunWithoutLease(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{10 * time.Second, 2 * time.Hour} { // longer than catch_up.window
		for _, paused := range []bool{false, true} { // when it is due here
			t.Run(fmt.Sprintf("%v, paused %v", period, paused), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { rerunBehind(t, period, paused) })
			})
		}
	}
}

func rerunBehind(t *testing.T, period time.Duration, paused bool) {
	t.Helper()
	d := newDesks(t)
	d.locker = cutOff{d.locks, false, new(atomic.Bool)}
	job := every(t, period.String(), "j", d.handler(func(_ context.Context, run jobs.Run) error {
		if d.at(run.Tick) == period {
			time.Sleep(period + 12*time.Second) // it does not listen
		}
		return nil
	}))
	job.OnCrash, job.Timeout = jobs.CrashRerun, 3*time.Hour
	stop := d.start(d.replica("r1", func(c *scheduler.Config) { c.Commands = d.commands }, job))
	after(t, period+5*time.Second)
	if paused {
		d.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "x"})
	}
	after(t, period-4*time.Second)
	d.dieIn(2*period, locking.AtLeastOnce, 5*time.Second)
	after(t, 6*time.Second)
	if paused {
		d.do(commands.Command{Kind: commands.Resume, Job: "j", Reason: "x"})
	}
	after(t, 2*period+2*time.Second)
	d.stop(stop)
	d.wantTicks("j", fmt.Sprint(period, " lease_lost: the lease could not be kept"),
		fmt.Sprint(2*period, " succeeded"), fmt.Sprint(3*period, " succeeded"), fmt.Sprint(4*period, " succeeded"))
}

// A run that was interrupted when all replicas died is run again by the first one that
// starts, unless it is too old, or the policy forbids it.
func TestRerunAfterAStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		mode   locking.Mode
		change func(*jobs.Job)
		first  string
		again  int
	}{
		{"rerun", locking.AtLeastOnce, func(*jobs.Job) {}, "10s succeeded", 1},
		{"rerun and catch-up", locking.AtLeastOnce, func(j *jobs.Job) { j.CatchUp.Mode = jobs.CatchUpAll }, "10s succeeded", 1},
		{"rerun and the last", locking.AtLeastOnce, func(j *jobs.Job) { j.CatchUp.Mode = jobs.CatchUpLast }, "10s succeeded", 1},
		{"too long ago", locking.AtLeastOnce, func(j *jobs.Job) { j.CatchUp.Window = time.Minute }, "10s interrupted", 0},
		{"skip", locking.AtMostOnce, func(j *jobs.Job) { j.OnCrash = jobs.CrashSkip }, "10s interrupted", 0},
		{"it was skip when it began", locking.AtMostOnce, func(*jobs.Job) {}, "10s interrupted", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				time.Sleep(10 * time.Second)
				c.die(tt.mode, 5*time.Second)
				time.Sleep(85 * time.Second) // 95 s
				job := rerunning(t, c, jobs.OverlapSkip, 0)
				tt.change(&job)
				stop := c.startAll(2, nil, job)
				time.Sleep(20 * time.Second)
				stop()
				list := c.ticks("j")
				if got := string(list[0].Outcome); "10s "+got != tt.first {
					t.Errorf("10s %s %s, want %s", got, list[0].Reason, tt.first)
				}
				if again := list[0].Attempt - 1; again != tt.again {
					t.Errorf("run again %d times, want %d", again, tt.again)
				}
				if last := list[len(list)-1]; c.at(last.Tick) != 110*time.Second || last.Outcome != ledger.Succeeded {
					t.Errorf("the last tick: %+v", last)
				}
			})
		})
	}
}

// While one replica catches up, the others remember the rest: they continue if that one
// dies.
func TestRerunWhileCatchingUp(t *testing.T) {
	t.Parallel()
	for _, overlap := range []jobs.Overlap{jobs.OverlapSkip, jobs.OverlapQueue} {
		t.Run(string(overlap), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				time.Sleep(10 * time.Second)
				if err := c.die(locking.AtLeastOnce, 5*time.Second).Release(t.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded})); err != nil {
					t.Fatal(err)
				}
				time.Sleep(85 * time.Second) // 95 s
				job := rerunning(t, c, overlap, 3*time.Second)
				job.CatchUp.Mode = jobs.CatchUpAll
				stop := c.startAll(3, nil, job)
				time.Sleep(94 * time.Second)
				stop()
				for _, e := range c.ticks("j") {
					if at := c.at(e.Tick); at < 100*time.Second {
						if e.Outcome != ledger.Succeeded {
							t.Errorf("%v is %s: %s", at, e.Outcome, e.Reason)
						}
						c.saw(0, fmt.Sprintf("skipped j %v:", at))
						c.saw(0, fmt.Sprintf("missed j %v:", at))
					}
				}
			})
		})
	}
}

// A replica that watches a tick that nobody began records it: the claim was its own, given
// up, or another's, given up.
func TestWatchedForNothing(t *testing.T) {
	t.Parallel()
	for _, holder := range []string{"r1", "r2"} {
		t.Run(holder, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.locker = &scripted{locks: c.locks, reasons: []error{locking.ErrTaken, locking.ErrUnvouched}, repeat: true, holder: holder}
				stop := c.start(c.replica("r1", nil, rerunning(t, c, jobs.OverlapSkip, 0)))
				time.Sleep(19 * time.Second)
				c.stop(stop)
				c.wantTicks("j", "10s missed: unvouched: the store can no longer tell whether the tick has run: a: down")
				c.saw(map[string]int{"r1": 0, "r2": 1}[holder], "lost j 10s")
			})
		})
	}
}

// Nodes that do not answer keep a watched tick undecided. The records of later ticks do not say
// that its run goes on: nobody here knows.
func TestWatchedDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = &outage{Locker: c.locks, from: c.begun.Add(12 * time.Second), to: c.begun.Add(41 * time.Second)}
		stop := c.start(c.replica("r1", nil, rerunning(t, c, jobs.OverlapSkip, 0)))
		time.Sleep(10*time.Second - time.Millisecond)
		c.die(locking.AtLeastOnce, 5*time.Second)
		time.Sleep(49 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s succeeded", "20s missed: no quorum", "30s missed: no quorum", "40s succeeded", "50s succeeded")
	})
}
