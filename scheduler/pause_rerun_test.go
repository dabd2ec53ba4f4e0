package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// hangsOnce is a handler whose first attempt of the first tick, at that minute, lasts until
// its context ends.
func hangsOnce(minute int) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		if run.Attempt > 1 || run.Tick.Minute() != minute {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

// A pause that has ended leaves the run watched: if its replica dies later, another one
// runs the tick again.
func TestRerunAfterAPauseThatEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		pause, last time.Duration // how long the job is paused, and runs after it
	}{
		{"no pause", 0, 3 * time.Second},
		{"a short pause", 10 * time.Second, 3 * time.Second},
		{"a run longer than catch_up.window", 10 * time.Second, 90 * time.Minute},
		{"a pause longer than catch_up.window", 90 * time.Minute, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := onSchedule(t, "@every 24h", jobs.CatchUpNone)
			j.OnCrash, j.Timeout, j.Handler = jobs.CrashRerun, 24*time.Hour, hangsOnce(0)
			j.CatchUp.Window = time.Hour
			runCluster(t, schedtest.Setup{Jobs: []jobs.Job{j}, Replicas: 3}, func(t *testing.T, c *schedtest.Cluster) {
				run := c.Await("j", 25*time.Hour)
				c.Forward(5 * time.Second)
				if tt.pause > 0 {
					c.Pause("j", "x")
					c.Forward(tt.pause)
					c.Resume("j")
				}
				c.Forward(tt.last)
				c.Replica(run.Replica).Kill()
				c.Forward(5 * time.Minute)
				wantShown(t, c, "00:00:00 succeeded")
			})
		})
	}
}

// During a pause, the run of a dead replica stays interrupted. Soon after the pause the
// tick runs again, before the next one; also if all replicas died, and new ones know the
// run only from the ledger.
func TestRerunWaitsForTheEndOfAPause(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		for _, catchUp := range []jobs.CatchUpMode{jobs.CatchUpNone, jobs.CatchUpAll} {
			t.Run(map[bool]string{false: "one dies", true: "all die"}[all]+", "+string(catchUp), func(t *testing.T) {
				t.Parallel()
				j := onSchedule(t, "@every 10m", catchUp)
				j.OnCrash, j.Handler = jobs.CrashRerun, hangsOnce(10)
				runCluster(t, schedtest.Setup{Jobs: []jobs.Job{j}, Replicas: 3}, func(t *testing.T, c *schedtest.Cluster) {
					run := c.Await("j", 2*time.Hour)
					c.Forward(5 * time.Second)
					c.Pause("j", "x")
					c.Forward(10 * time.Second)
					if all {
						c.Outage(30 * time.Second)
					} else {
						c.Replica(run.Replica).Kill()
					}
					c.Forward(time.Minute)
					wantShown(t, c, "00:10:00 interrupted")
					c.Resume("j")
					c.Forward(15 * time.Second)
					wantShown(t, c, "00:10:00 succeeded")
					c.Forward(10 * time.Minute)
					wantShown(t, c, "00:10:00 succeeded", "00:20:00 succeeded")
				})
			})
		}
	}
}

// The same for a pause that ends by itself at the next tick, which is due before the commands are read again.
func TestRerunGoesBeforeTheTickAtTheEndOfAPause(t *testing.T) {
	t.Parallel()
	j := onSchedule(t, "@every 10m", jobs.CatchUpNone)
	j.OnCrash, j.Handler = jobs.CrashRerun, hangsOnce(10)
	runCluster(t, schedtest.Setup{Jobs: []jobs.Job{j}, Replicas: 3}, func(t *testing.T, c *schedtest.Cluster) {
		run := c.Await("j", 2*time.Hour)
		c.Forward(5 * time.Second)
		c.Do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "x", Until: run.Tick.Add(10 * time.Minute)})
		c.Forward(10 * time.Second)
		c.Outage(30 * time.Second)
		c.Forward(time.Minute)
		wantShown(t, c, "00:10:00 interrupted")
		c.Forward(10 * time.Minute)
		wantShown(t, c, "00:10:00 succeeded", "00:20:00 succeeded")
	})
}

// A run that a drain hands over during a pause, or after it, runs again.
func TestHandedOverAfterAPause(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"resumed before the drain", "resumed after the drain"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				job := every(t, "1h", "j", firstAttempt(untilEnd, succeedsNow))
				job.OnCrash = jobs.CrashRerun
				s := newShift(t, job)
				resume := func() { s.do(commands.Command{Kind: commands.Resume, Job: "j", Reason: "x"}) }
				after(t, time.Hour+5*time.Second)
				s.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "x"})
				after(t, 3*time.Second)
				if how == "resumed before the drain" {
					resume()
					after(t, 3*time.Second)
					s.drain()
				} else {
					s.drain()
					after(t, time.Minute)
					if n := len(s.attempts("j")); n != 1 {
						t.Errorf("%d attempts while the job was paused, want 1", n)
					}
					resume()
				}
				after(t, 5*time.Second)
				s.leaveAll()
				if list := s.attempts("j"); len(list) != 2 || list[1].Outcome != ledger.Succeeded || list[1].Trigger != ledger.ByRerun {
					t.Errorf("attempts: %+v", list)
				}
			})
		})
	}
}

// A starting replica reads the pauses before it runs past ticks: interrupted and missed
// ones.
func TestStartsPausedBeforeItCatchesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		d.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "x"})
		after(t, 10*time.Second)
		d.die(locking.AtLeastOnce, 5*time.Second)
		after(t, 35*time.Second)
		job := every(t, "10s", "j", d.handler(succeedsNow))
		job.OnCrash, job.CatchUp.Mode = jobs.CrashRerun, jobs.CatchUpAll
		stop := d.start(d.replica("a", func(c *scheduler.Config) { c.Commands = slowCommands{d.commands, 3 * time.Second} }, job))
		after(t, 20*time.Second)
		d.saw(0, "claimed j")
		d.do(commands.Command{Kind: commands.Resume, Job: "j", Reason: "x"})
		after(t, 18*time.Second)
		d.stop(stop)
		if first := d.ticks("j")[0]; first.Trigger != ledger.ByRerun || first.Outcome != ledger.Succeeded {
			t.Errorf("the interrupted tick: %+v", first)
		}
	})
}

// A pause comes while a rerun is being claimed. The claim is given back without a record,
// and the tick runs after the pause.
func TestPauseWhileARerunIsClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		d.locker = &scripted{locks: d.locks, slow: 10 * time.Second}
		after(t, 10*time.Second)
		d.die(locking.AtLeastOnce, 5*time.Second)
		after(t, 25*time.Second)
		job := every(t, "10s", "j", d.handler(succeedsNow))
		job.OnCrash, job.Overlap = jobs.CrashRerun, jobs.OverlapQueue
		stop := d.start(d.replica("a", func(c *scheduler.Config) { c.Commands = d.commands }, job))
		after(t, 3*time.Second)
		d.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "x"})
		after(t, 20*time.Second)
		d.saw(0, "claimed j")
		d.saw(0, "skipped j 10s")
		d.do(commands.Command{Kind: commands.Resume, Job: "j", Reason: "x"})
		after(t, 18*time.Second)
		d.stop(stop)
		if first := d.ticks("j")[0]; first.Trigger != ledger.ByRerun || first.Outcome != ledger.Succeeded {
			t.Errorf("the interrupted tick: %+v", first)
		}
	})
}

// broken is a ledger that cannot be read while it is set.
type broken struct {
	ledger.Store
	is atomic.Bool
}

func (l *broken) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if l.is.Load() {
		return nil, errors.New("cannot be read")
	}
	return l.Store.Ticks(ctx, q)
}

// If the ledger cannot be read at the end of a pause, the next tick reads it before its
// claim. So the interrupted one still goes first.
func TestNextTickLooksBackAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		ledger := &broken{Store: d.ledger}
		job := every(t, "10s", "j", d.handler(succeedsNow))
		job.OnCrash = jobs.CrashRerun
		stop := d.start(d.replica("a", func(c *scheduler.Config) { c.Commands, c.Ledger = d.commands, ledger }, job))
		after(t, 10*time.Second-time.Millisecond) // the dead replica's clock is ahead
		d.die(locking.AtLeastOnce, 8*time.Second)
		after(t, time.Second)
		d.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "x"})
		after(t, 2*time.Second)
		ledger.is.Store(true)
		d.do(commands.Command{Kind: commands.Resume, Job: "j", Reason: "x"})
		after(t, 4*time.Second)
		ledger.is.Store(false)
		after(t, 12*time.Second)
		d.stop(stop)
		d.wantTicks("j", "10s succeeded", "20s succeeded")
	})
}
