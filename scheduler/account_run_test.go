package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
)

// onSchedule is a job "j" that does nothing.
func onSchedule(t *testing.T, spec string, mode jobs.CatchUpMode) jobs.Job {
	t.Helper()
	s, err := schedule.Parse(spec, schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Job{
		Name: "j", Schedule: s, Spec: spec, CatchUp: jobs.CatchUp{Mode: mode, Window: 6 * time.Hour},
		Handler: func(context.Context, jobs.Run) error { return nil },
	}
}

// shown returns the ticks of j, each as its time on the first day and its outcome.
func shown(c *schedtest.Cluster) string {
	var lines []string
	for _, e := range c.Ticks("j") {
		line := e.Tick.UTC().Format("15:04:05") + " " + string(e.Outcome)
		if e.Outcome == ledger.Missed {
			line += " " + string(e.Reason.Code)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func wantShown(t *testing.T, c *schedtest.Cluster, want ...string) {
	t.Helper()
	if got := shown(c); got != strings.Join(want, "\n") {
		t.Errorf("the ledger has\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A replica starts after a gap, runs later ticks, and dies before it has read the past. The
// next replica still accounts for the gap.
func TestGapBeforeAReplicaThatDiedEarly(t *testing.T) {
	t.Parallel()
	setup := schedtest.Setup{Jobs: []jobs.Job{onSchedule(t, "@every 2s", jobs.CatchUpNone)}, Replicas: 1}
	runCluster(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		r := c.Replicas()[0]
		c.Forward(5 * time.Second)
		r.Kill() // at 5 s
		c.Forward(4 * time.Second)
		r.Start()
		c.Forward(4 * time.Second)
		r.Kill() // at 13 s
		c.Forward(2 * time.Second)
		r.Start()
		c.Forward(2 * time.Minute)
		var lines []string
		for i, e := range c.Ticks("j") {
			if want := 2 * time.Second * time.Duration(i+1); e.Tick.Sub(c.Ticks("j")[0].Tick) != want-2*time.Second {
				t.Errorf("line %d is of tick %v, want %v", i, e.Tick.UTC(), want)
				break
			}
			if e.Outcome == ledger.Missed {
				lines = append(lines, e.Tick.UTC().Format("05")+" "+string(e.Reason.Code))
			}
		}
		if got := strings.Join(lines, ", "); got != "06 unknown, 08 unknown, 14 unknown" {
			t.Errorf("missed: %s", got)
		}
	})
}

// The first tick of a job falls into an outage. The job was served before, so the tick is
// recorded or caught up.
func TestFirstTickFallsIntoAnOutage(t *testing.T) {
	t.Parallel()
	for mode, want := range map[jobs.CatchUpMode]string{
		jobs.CatchUpNone: "01:00:00 missed unknown",
		jobs.CatchUpLast: "01:00:00 succeeded",
		jobs.CatchUpAll:  "01:00:00 succeeded",
	} {
		for _, spec := range []string{"@at 2000-01-01T01:00:00Z", "0 1 1 * *"} {
			t.Run(string(mode)+" "+spec, func(t *testing.T) {
				t.Parallel()
				setup := schedtest.Setup{Jobs: []jobs.Job{onSchedule(t, spec, mode)}, Replicas: 2}
				runCluster(t, setup, func(t *testing.T, c *schedtest.Cluster) {
					c.Forward(50 * time.Minute)
					c.Outage(30 * time.Minute)
					c.Forward(5 * time.Minute)
					wantShown(t, c, want)
				})
			})
		}
	}
}

// A job that was never served has no past, whatever its schedule.
func TestNewJobHasNoPast(t *testing.T) {
	t.Parallel()
	other := onSchedule(t, "@daily", jobs.CatchUpNone)
	other.Name = "other"
	list := []jobs.Job{other, onSchedule(t, "@hourly", jobs.CatchUpAll)}
	runCluster(t, schedtest.Setup{Jobs: list[:1], Replicas: 2}, func(t *testing.T, c *schedtest.Cluster) {
		c.Forward(150 * time.Minute)
		c.Update(list)
		c.Forward(time.Hour)
		wantShown(t, c, "03:00:00 succeeded")
	})
}

// A job is removed from the configuration and added again. The ticks in between need no
// entry, even after all replicas have died. If all died before one could publish the
// removal, it is unknown.
func TestRemovedAndPutBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []jobs.CatchUpMode{jobs.CatchUpNone, jobs.CatchUpAll} {
		for _, also := range []string{"", "killed while it was out", "killed when it was back"} {
			t.Run(string(mode)+" "+also, func(t *testing.T) {
				t.Parallel()
				setup := schedtest.Setup{Jobs: []jobs.Job{onSchedule(t, "@every 10m", mode)}, Replicas: 3}
				runCluster(t, setup, func(t *testing.T, c *schedtest.Cluster) {
					with := setup.Jobs
					c.Forward(15 * time.Minute)
					c.Update(nil)
					c.Forward(30 * time.Minute)
					if strings.HasPrefix(also, "killed while") {
						c.Outage(time.Minute)
					}
					c.Update(with) // at 45 or 46 min
					if strings.HasPrefix(also, "killed when") {
						c.Forward(time.Second)
						c.Outage(time.Minute)
					}
					c.Forward(10 * time.Minute)
					wantShown(t, c, "00:10:00 succeeded", "00:50:00 succeeded")
				})
			})
		}
	}
}

// A roll-out replaces the replicas one by one with a configuration without the job, and a
// later one adds it again. The ticks in between need no entry.
func TestRemovedByARollOut(t *testing.T) {
	t.Parallel()
	for _, mode := range []jobs.CatchUpMode{jobs.CatchUpNone, jobs.CatchUpAll} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			setup := schedtest.Setup{Jobs: []jobs.Job{onSchedule(t, "@every 10m", mode)}, Replicas: 3}
			runCluster(t, setup, func(t *testing.T, c *schedtest.Cluster) {
				rollOut := func(list []jobs.Job) {
					for _, r := range c.Replicas() {
						r.Stop()
						r.Update(list)
						r.Start()
						c.Forward(10 * time.Second)
					}
				}
				c.Forward(15 * time.Minute)
				rollOut(nil)
				c.Forward(30 * time.Minute)
				rollOut(setup.Jobs)
				c.Forward(15 * time.Minute)
				wantShown(t, c, "00:10:00 succeeded", "00:50:00 succeeded", "01:00:00 succeeded")
			})
		})
	}
}

// A replica drains while another one serves the job, which then dies: the job was not
// removed.
func TestRollOutRemovesNothing(t *testing.T) {
	t.Parallel()
	job := onSchedule(t, "@every 10m", jobs.CatchUpAll)
	changed := job
	changed.Timeout = time.Hour
	for name, other := range map[string]jobs.Job{"the same version": job, "another version": changed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runCluster(t, schedtest.Setup{Jobs: []jobs.Job{job}, Replicas: 2}, func(t *testing.T, c *schedtest.Cluster) {
				all := c.Replicas()
				all[1].Update([]jobs.Job{other})
				c.Forward(15 * time.Minute)
				all[0].Stop()
				c.Forward(time.Second)
				all[1].Kill()
				c.Forward(10 * time.Minute)
				all[0].Start()
				c.Forward(10 * time.Minute)
				wantShown(t, c, "00:10:00 succeeded", "00:20:00 succeeded", "00:30:00 succeeded")
			})
		})
	}
}

// A roll-out adds another job, replica by replica. The old job is served throughout, so a
// later outage counts.
func TestOutageAfterARollOut(t *testing.T) {
	t.Parallel()
	job := onSchedule(t, "@every 10m", jobs.CatchUpAll)
	other := onSchedule(t, "@yearly", jobs.CatchUpNone)
	other.Name = "other"
	runCluster(t, schedtest.Setup{Jobs: []jobs.Job{job}, Replicas: 3}, func(t *testing.T, c *schedtest.Cluster) {
		c.Forward(15 * time.Minute)
		for _, r := range c.Replicas() {
			r.Stop()
			r.Update([]jobs.Job{job, other})
			r.Start()
			c.Forward(10 * time.Second)
		}
		c.Outage(10 * time.Minute)
		c.Forward(10 * time.Minute) // 35:30
		wantShown(t, c, "00:10:00 succeeded", "00:20:00 succeeded", "00:30:00 succeeded")
	})
}

// A replica with a new configuration starts, the old one drains, and the new one dies
// before or after it publishes its jobs. The job was not removed.
func TestNewVersionDiesInARollOut(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, 50 * time.Millisecond, time.Second, 10 * time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			job := onSchedule(t, "@every 10m", jobs.CatchUpAll)
			other := onSchedule(t, "@yearly", jobs.CatchUpNone)
			other.Name = "other"
			runCluster(t, schedtest.Setup{Jobs: []jobs.Job{job}, Replicas: 2}, func(t *testing.T, c *schedtest.Cluster) {
				all := c.Replicas()
				all[1].Stop()
				all[1].Update([]jobs.Job{job, other})
				c.Forward(15 * time.Minute)
				all[1].Start()
				c.Forward(wait)
				all[0].Stop()
				all[1].Kill()
				c.Forward(10 * time.Minute)
				all[1].Start()
				c.Forward(10 * time.Minute) // 35 min
				wantShown(t, c, "00:10:00 succeeded", "00:20:00 succeeded", "00:30:00 succeeded")
			})
		})
	}
}

// One replica removes the job long before the others: it was served throughout.
func TestRemovedByOneReplicaOnly(t *testing.T) {
	t.Parallel()
	setup := schedtest.Setup{Jobs: []jobs.Job{onSchedule(t, "@every 10m", jobs.CatchUpAll)}, Replicas: 2}
	runCluster(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		all := c.Replicas()
		c.Forward(15 * time.Minute)
		all[0].Update(nil)
		c.Forward(time.Second)
		all[1].Kill() // before the next tick
		c.Forward(10 * time.Minute)
		all[0].Update(setup.Jobs)
		all[1].Start()
		c.Forward(10 * time.Minute) // 35 min
		wantShown(t, c, "00:10:00 succeeded", "00:20:00 succeeded", "00:30:00 succeeded")
	})
}

// A replica that is stopped while it catches up leaves the rest to the next one.
func TestDrainLeavesWhatIsToBeCaughtUp(t *testing.T) {
	t.Parallel()
	j := onSchedule(t, "@every 1m", jobs.CatchUpAll)
	j.Handler = untilEndOr(20 * time.Second)
	runCluster(t, schedtest.Setup{Jobs: []jobs.Job{j}, Replicas: 1}, func(t *testing.T, c *schedtest.Cluster) {
		r := c.Replicas()[0]
		c.Forward(90 * time.Second)
		c.StopNodes()
		c.Forward(4 * time.Minute)
		c.StartNodes()
		c.Forward(15 * time.Second)
		r.Stop()
		noneMissed := func() {
			for _, e := range c.Ticks("j") {
				if e.Outcome == ledger.Missed {
					t.Errorf("at %v: %v: %s", c.Now(), e.Tick, e.Reason)
				}
			}
		}
		noneMissed()
		c.Forward(time.Second)
		r.Start()
		c.Forward(2 * time.Minute)
		noneMissed()
	})
}

// The same if the other one's set cannot be read: it may have the job.
func TestRemovedBesideAnUnreadableSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "10m", "j", c.handler(nil))
		job.CatchUp.Mode = jobs.CatchUpAll
		stays := c.replica("r1", func(cfg *scheduler.Config) { cfg.JobSets = unreadable{c.roster} }, job)
		stop := c.start(stays)
		kill := c.killable("r2", job, every(t, "1h", "other", c.handler(nil)))
		time.Sleep(15 * time.Minute)
		c.update(stays)
		time.Sleep(time.Second)
		kill()
		time.Sleep(10 * time.Minute)
		c.update(stays, job)
		time.Sleep(10 * time.Minute)
		c.stop(stop)
		c.wantTicks("j", "10m0s succeeded", "20m0s succeeded", "30m0s succeeded")
	})
}

type unreadable struct{ roster.JobSets }

func (unreadable) JobSet(context.Context, string) ([]byte, error) { return nil, locking.ErrNoQuorum }

// Refused records are not accounted for: the gap is left to the next replica.
func TestAccountWaitsForTheLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "10m", "j", c.handler(nil))
		locker := outage{c.locks, c.begun.Add(5 * time.Minute), c.begun.Add(25 * time.Minute)}
		stop := c.startAll(1, func(cfg *scheduler.Config) {
			cfg.Locker, cfg.Ledger = locker, gatedRecords{c.ledger, func() error { return errors.New("refused") }}
		}, job)
		time.Sleep(32 * time.Minute)
		stop()
		c.wantTicks("j", "30m0s succeeded")
		time.Sleep(5 * time.Minute)
		stop = c.startAll(1, nil, job)
		time.Sleep(5 * time.Minute)
		stop()
		c.wantTicks("j", "10m0s missed: unknown: no replica has recorded what became of it",
			"20m0s missed: unknown: no replica has recorded what became of it", "30m0s succeeded", "40m0s succeeded")
	})
}

// A replica sleeps for sixty hours, from when a tick comes, or while it decides that tick. Each
// tick has an entry, or the oldest entry represents the others.
func TestSuspendedForSixtyHours(t *testing.T) {
	t.Parallel()
	for _, mode := range []jobs.CatchUpMode{jobs.CatchUpNone, jobs.CatchUpAll} {
		for _, interval := range []string{"1h", "1m"} {
			for _, looks := range []int64{0, 2} {
				t.Run(fmt.Sprint(string(mode), " ", interval, " ", looks), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						c := newCluster(t)
						j := every(t, interval, "j", c.handler(nil))
						j.CatchUp = jobs.CatchUp{Mode: mode, Window: time.Hour, Max: 1}
						time.Sleep(30 * time.Minute)
						r := c.replica("r1", nil, j)
						asleep := time.Now().Add(30 * time.Minute)
						var late atomic.Int64 // looks at the clock since then
						r.Suspend(func() time.Duration {
							if time.Now().Before(asleep) || late.Add(1) <= looks {
								return 0
							}
							return 60 * time.Hour
						})
						stop := c.start(r)
						time.Sleep(40 * time.Minute)
						c.stop(stop)
						c.complete(interval)
					})
				})
			}
		}
	}
}

// complete fails if a tick of job j has no entry, unless the next entry represents it.
func (c *cluster) complete(interval string) {
	c.t.Helper()
	step, err := time.ParseDuration(interval)
	if err != nil {
		c.t.Fatal(err)
	}
	list := c.ticks("j")
	if len(list) < 60 {
		c.t.Errorf("%d ticks are on the ledger", len(list))
	}
	for i, e := range list[1:] {
		if gap := e.Tick.Sub(list[i].Tick); gap != step && !strings.Contains(e.Reason.String(), "since "+jobs.FormatTick(list[i].Tick.Add(step))) {
			c.t.Errorf("no tick lies between %v and %v: %s %s", c.at(list[i].Tick), c.at(e.Tick), e.Outcome, e.Reason)
		}
	}
}

// If the nodes do not answer at the start, the pauses are unknown, and no tick begins. That
// is the reason, not a sleep.
func TestTicksBeforeAnythingIsKnown(t *testing.T) {
	t.Parallel()
	setup := schedtest.Setup{Jobs: []jobs.Job{onSchedule(t, "@every 2s", jobs.CatchUpNone)}, Replicas: 1}
	runCluster(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		r := c.Replicas()[0]
		r.Stop()
		c.StopNodes()
		r.Start()
		c.Forward(15 * time.Second)
		c.StartNodes()
		c.Forward(10 * time.Second)
		for _, e := range c.Ticks("j") {
			want := ledger.CodeStarting
			switch {
			case e.Outcome != ledger.Missed:
				continue
			case e.Tick.Second() >= 10:
				want = ledger.CodeNoQuorum
			}
			if e.Reason.Code != want {
				t.Errorf("%v: %s, want %s", e.Tick.UTC(), e.Reason, want)
			}
		}
		if len(c.Ticks("j")) < 10 {
			t.Errorf("the ledger has\n%s", shown(c))
		}
	})
}

// Ticks before the nodes lost their memory cannot be judged by what they have.
func TestHistoryThatWasLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		lost := &wiped{Store: c.ledger}
		forgets := func(cfg *scheduler.Config) { cfg.Ledger = lost }
		job := every(t, "10m", "j", c.handler(nil))
		kill := c.killable("r1", job)
		time.Sleep(15 * time.Minute)
		kill()
		time.Sleep(20 * time.Minute) // 35 min
		lost.since = time.Now()
		time.Sleep(10 * time.Minute) // 45 min
		stop := c.startAll(1, forgets, job)
		time.Sleep(10 * time.Minute)
		stop()
		var got []string
		for _, e := range c.ticks("j") {
			got = append(got, c.at(e.Tick).String()+" "+string(e.Outcome)+" "+string(e.Reason.Code))
		}
		want := "10m0s succeeded , 20m0s missed history_lost, 30m0s missed history_lost, 40m0s missed unknown, 50m0s succeeded "
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("the ledger has\n%s\nwant\n%s", text, want)
		}
	})
}

// wiped is a ledger on nodes that have lost their memory.
type wiped struct {
	ledger.Store
	since time.Time
}

func (f *wiped) RemembersSince() (time.Time, bool) { return f.since, true }

// killable starts a replica, and returns a function that kills it: nothing it does later
// has an effect.
func (c *cluster) killable(id string, list ...jobs.Job) (kill func()) {
	nodes := &cutable{Watcher: c.locks}
	var dead atomic.Bool
	gone := func() error {
		if dead.Load() {
			return locking.ErrNoQuorum
		}
		return nil
	}
	s := c.replica(id, func(cfg *scheduler.Config) {
		cfg.Locker, cfg.Ledger, cfg.Roster = nodes, gatedRecords{c.ledger, gone}, gatedRoster{c.roster, gone}
	}, list...)
	stop := c.start(s)
	return func() {
		dead.Store(true)
		nodes.cut.Store(true)
		_ = stop()
	}
}

type gatedRecords struct {
	ledger.Store
	gone func() error
}

func (g gatedRecords) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	if err := g.gone(); err != nil {
		return false, err
	}
	return g.Store.Record(ctx, e)
}

type gatedRoster struct {
	roster.Roster
	gone func() error
}

func (g gatedRoster) Publish(ctx context.Context, list []roster.JobInfo) error {
	if err := g.gone(); err != nil {
		return err
	}
	return g.Roster.Publish(ctx, list)
}
