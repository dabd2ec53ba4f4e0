package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// desks is a cluster with commands.
type desks struct{ *cluster }

func newDesks(t *testing.T) *desks {
	t.Helper()
	return &desks{newCluster(t)}
}

// run starts replicas with the job, and stops them at the end of the test.
func (d *desks) run(list []jobs.Job, ids ...string) (stop func()) {
	d.t.Helper()
	var stops []func() error
	for _, id := range ids {
		stops = append(stops, d.start(d.replica(id, func(c *scheduler.Config) { c.Commands = d.commands }, list...)))
	}
	return func() {
		for _, s := range stops {
			d.stop(s)
		}
	}
}

func (d *desks) do(command commands.Command) commands.Command {
	d.t.Helper()
	command.By = "ann@laptop"
	command, err := d.commands.Do(d.t.Context(), command)
	if err != nil {
		d.t.Fatal(err)
	}
	return command
}

// result wants this result of the command in the audit log.
func (d *desks) result(id, want string) {
	d.t.Helper()
	log, err := d.commands.Audit(d.t.Context(), 100)
	if err != nil {
		d.t.Fatal(err)
	}
	i := slices.IndexFunc(log, func(a commands.Command) bool { return a.ID == id })
	if i < 0 || !regexp.MustCompile("^"+want+"$").MatchString(log[i].Result) {
		d.t.Errorf("the audit log says of %s:\n%+v\nwant %q", id, log, want)
	}
}

// wantRuns wants these runs: trigger and tick, in the order they began.
func (d *desks) wantRuns(want ...string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	var got []string
	for _, r := range d.runs {
		got = append(got, fmt.Sprintf("%s %v", r.Trigger, d.at(r.Tick)))
	}
	if !slices.Equal(got, want) {
		d.t.Errorf("runs:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func after(t *testing.T, d time.Duration) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
}

var trigger = commands.Command{Kind: commands.Trigger, Job: "j", Reason: "try it"}

// daily is a job whose next tick is far away.
func daily(t *testing.T, d *desks, fn jobs.Handler) []jobs.Job {
	t.Helper()
	return []jobs.Job{every(t, "24h", "j", d.handler(fn))}
}

func TestTriggerRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		stop := d.run(daily(t, d, nil), "a", "b", "c")
		after(t, 5*time.Second)
		command := d.do(trigger)
		after(t, 10*time.Second)
		d.wantRuns("manual 5s")
		d.result(command.ID, "succeeded")
		if got := d.ticks("j"); len(got) != 1 || got[0].Trigger != ledger.ByManual || !got[0].Tick.Equal(command.At) {
			t.Errorf("ledger: %+v, want the trigger's run at %v", got, command.At)
		}
		after(t, 2*time.Hour)
		d.wantRuns("manual 5s")
		stop()
	})
}

// TestTriggersAtOnce: two triggers at the same instant both run, one after the other.
func TestTriggersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		slow := func(ctx context.Context, _ jobs.Run) error { return wait(ctx, 3*time.Second) }
		stop := d.run(daily(t, d, slow), "a", "b", "c")
		after(t, 5*time.Second)
		var asking sync.WaitGroup
		for range 2 {
			asking.Go(func() { d.do(trigger) })
		}
		asking.Wait()
		after(t, 20*time.Second)
		d.wantRuns("manual 5s", "manual 5.001s")
		d.wantTicks("j", "5s succeeded", "5.001s succeeded")
		stop()
	})
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestTriggerOutlivesReplicas: a request without a live replica is done when one starts.
func TestTriggerOutlivesReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		stop := d.run(daily(t, d, nil), "a", "b")
		after(t, time.Second)
		stop()
		command := d.do(trigger)
		after(t, 30*time.Minute)
		stop = d.run(daily(t, d, nil), "c", "d")
		after(t, 10*time.Second)
		d.wantRuns("manual 1s")
		d.result(command.ID, "succeeded")
		stop()
	})
}

func TestTriggerWaitsForTheLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		slow := func(ctx context.Context, run jobs.Run) error {
			if run.Trigger == "schedule" {
				return wait(ctx, time.Minute)
			}
			return nil
		}
		stop := d.run([]jobs.Job{every(t, "1h", "j", d.handler(slow))}, "a", "b")
		after(t, time.Hour+time.Second)
		command := d.do(trigger)
		after(t, 2*time.Minute)
		d.wantRuns("schedule 1h0m0s", "manual 1h0m1s")
		d.result(command.ID, "succeeded")
		stop()
	})
}

// TestTriggerExpires: no replica has the job, or it is busy for too long.
func TestTriggerExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		busy := func(ctx context.Context, _ jobs.Run) error { return wait(ctx, 30*time.Minute) }
		stop := d.run([]jobs.Job{every(t, "1h", "j", d.handler(busy))}, "a", "b")
		after(t, time.Hour+time.Second)
		short, other := trigger, trigger
		short.Within, other.Within, other.Job = 10*time.Second, 10*time.Second, "nosuch"
		short, other = d.do(short), d.do(other)
		after(t, 5*time.Minute)
		d.wantRuns("schedule 1h0m0s")
		d.result(other.ID, "missed: expired: no replica could begin it in time")
		got := d.ticks("j")
		last := got[len(got)-1]
		if last.Outcome != ledger.Skipped || !strings.Contains(last.Reason.String(), "overlap") || !last.Tick.Equal(short.At) {
			t.Errorf("ledger: %+v, want the trigger skipped for overlap", last)
		}
		// Each replica saw another end of the lease; the log has that of one of them.
		until := regexp.MustCompile(` until .*`)
		d.result(short.ID, "skipped: "+until.ReplaceAllString(last.Reason.String(), " until .*"))
		stop()
	})
}

func TestTriggerParams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		list := daily(t, d, nil)
		var given []map[string]any
		list[0].Bind = func(params map[string]any) (jobs.Handler, error) {
			if params["customer"] != "acme" {
				return nil, errors.New("params.customer: want acme")
			}
			given = append(given, params)
			return d.handler(nil), nil
		}
		stop := d.run(list, "a")
		good, bad := trigger, trigger
		good.Params = json.RawMessage(`{"customer": "acme", "n": 9007199254740993, "list": [1.5]}`)
		bad.Params = json.RawMessage(`{"customer": 7}`)
		good, bad = d.do(good), d.do(bad)
		after(t, 5*time.Second)
		d.result(good.ID, "succeeded")
		d.result(bad.ID, "failed: the params of the request: params.customer: want acme")
		if len(given) != 1 || given[0]["n"] != int64(9007199254740993) || given[0]["list"].([]any)[0] != 1.5 {
			t.Errorf("bound with %+v", given)
		}
		stop()
	})
}

// TestPause: by job, tag and for all; the ticks are skipped with author, time and reason,
// and not caught up.
func TestPause(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]commands.Command{
		"job": {Job: "j"}, "tag": {Tag: "finance"}, "all": {All: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesks(t)
				j := every(t, "1m", "j", d.handler(nil))
				j.Tags = []string{"reports", "finance"}
				stop := d.run([]jobs.Job{j}, "a", "b")
				after(t, 90*time.Second)
				p, r := command, command
				p.Kind, p.Reason, r.Kind = commands.Pause, "the bank is down", commands.Resume
				p = d.do(p)
				after(t, time.Minute)
				manual := d.do(trigger) // it still runs
				after(t, time.Minute)
				d.do(r)
				after(t, time.Minute)
				why := fmt.Sprintf("skipped: paused: %sby ann@laptop since %s: the bank is down",
					map[string]string{"job": "", "tag": "tag finance ", "all": "all jobs "}[name], p.At.UTC().Format("2006-01-02T15:04:05.999Z"))
				d.wantTicks("j", "1m0s succeeded", "2m0s "+why, "2m30s succeeded", "3m0s "+why, "4m0s succeeded")
				d.result(manual.ID, "succeeded")
				stop()
			})
		})
	}
}

// A pause with an end skips the ticks before it, whenever they are decided, and none from it on.
func TestPauseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		j := every(t, "1m", "j", d.handler(nil))
		j.Jitter = 50 * time.Second // so ticks start after the end that come before it
		j.CatchUp = jobs.CatchUp{Mode: jobs.CatchUpAll, Window: time.Hour, Max: 10}
		list := []jobs.Job{j}
		stop := d.run(list, "a", "b")
		after(t, 2*time.Minute+55*time.Second) // all of 2m has begun
		p := d.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "so", Until: d.begun.Add(5 * time.Minute)})
		after(t, time.Minute)
		stop()
		after(t, 3*time.Minute) // nobody runs until 6m55s
		stop = d.run(list, "c")
		after(t, time.Minute)
		why := "skipped: paused: by ann@laptop since " + p.At.UTC().Format("2006-01-02T15:04:05.999Z") + " until " + p.Ends().Format("2006-01-02T15:04:05Z") + ": so"
		d.wantTicks("j", "0s succeeded", "1m0s succeeded", "2m0s succeeded", "3m0s "+why, "4m0s "+why, "5m0s succeeded", "6m0s succeeded", "7m0s succeeded")
		stop()
	})
}

// A tick that is skipped because its job is paused replaces no run.
func TestPausedTicksReplaceNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		stop := d.run([]jobs.Job{patient(t, d.cluster, jobs.OverlapCancelPrevious, untilEndOr(15*time.Second))}, "a", "b")
		after(t, 12*time.Second)
		p := d.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "to see"})
		after(t, 16*time.Second)
		d.wantTicks("j", "10s succeeded", "20s skipped: paused: by ann@laptop since "+p.At.UTC().Format("2006-01-02T15:04:05.999Z")+": to see")
		if e := d.ticks("j")[0]; e.Finished.Sub(e.Started) < 15*time.Second {
			t.Errorf("the run ended early: %+v", e)
		}
		stop()
	})
}

func TestPausedInTheConfiguration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		j := every(t, "1m", "j", d.handler(nil))
		j.Paused = true
		stop := d.run([]jobs.Job{j}, "a", "b")
		after(t, 70*time.Second)
		d.wantTicks("j", "1m0s skipped: paused in the configuration")
		stop()
	})
}

// slowCommands are slow to read.
type slowCommands struct {
	commands.Store
	after time.Duration
}

func (s slowCommands) Open(ctx context.Context) (commands.Open, error) {
	if err := wait(ctx, s.after); err != nil {
		return commands.Open{}, err
	}
	return s.Store.Open(ctx)
}

// TestPauseOutlivesReplicas: a replica claims nothing before it knows the pauses.
func TestPauseOutlivesReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		d.do(commands.Command{Kind: commands.Pause, All: true, Reason: "moving"})
		after(t, 59*time.Second)
		s := d.replica("a", func(c *scheduler.Config) { c.Commands = slowCommands{d.commands, 3 * time.Second} }, every(t, "1m", "j", d.handler(nil)))
		stop := d.start(s)
		after(t, 10*time.Second)
		d.wantTicks("j", "1m0s skipped: paused: all jobs by ann@laptop since 2000-01-01T00:00:00Z: moving")
		d.wantRuns()
		d.stop(stop)
	})
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		short := func(ctx context.Context, _ jobs.Run) error { return wait(ctx, time.Second) }
		list := []jobs.Job{every(t, "1h", "j", d.handler(short))}
		after(t, 4*time.Hour+30*time.Minute)
		stop := d.run(list, "a", "b", "c")
		command := d.do(commands.Command{
			Kind: commands.Backfill, Job: "j", Reason: "lost", From: d.begun.Add(time.Hour), To: d.begun.Add(9 * time.Hour),
		})
		after(t, 40*time.Minute)
		d.wantRuns("backfill 1h0m0s", "backfill 2h0m0s", "backfill 3h0m0s", "backfill 4h0m0s", "schedule 5h0m0s")
		d.result(command.ID, "4 ticks: 4 succeeded")
		for i, e := range d.ticks("j")[:4] {
			if e.Trigger != ledger.ByBackfill || e.Tick.Sub(d.begun) != time.Duration(i+1)*time.Hour {
				t.Errorf("entry %d: %+v", i, e)
			}
		}
		for _, ask := range []struct {
			from, to time.Duration
			want     string
		}{
			{time.Minute, 2 * time.Minute, "nothing to do: the schedule has no ticks in that range"},
			{-2000 * time.Hour, 0, "refused: the range has more than 1000 ticks; ask for parts of it"},
		} {
			command := d.do(commands.Command{Kind: commands.Backfill, Job: "j", Reason: "x", From: d.begun.Add(ask.from), To: d.begun.Add(ask.to)})
			after(t, 5*time.Second)
			d.result(command.ID, ask.want)
		}
		stop()
	})
}

// TestBackfillYields: scheduled ticks go between those of a backfill.
func TestBackfillYields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		slow := func(ctx context.Context, _ jobs.Run) error { return wait(ctx, 20*time.Second) }
		list := []jobs.Job{every(t, "1m", "j", d.handler(slow))}
		list[0].Overlap = jobs.OverlapQueue
		after(t, 20*time.Minute+time.Second)
		stop := d.run(list, "a", "b")
		command := d.do(commands.Command{
			Kind: commands.Backfill, Job: "j", Reason: "lost", From: d.begun, To: d.begun.Add(20 * time.Minute),
		})
		after(t, 30*time.Minute)
		d.result(command.ID, "20 ticks: 20 succeeded")
		for _, e := range d.ticks("j") {
			if e.Outcome != ledger.Succeeded && e.Outcome != ledger.Running {
				t.Errorf("%v %s: %s", d.at(e.Tick), e.Outcome, e.Reason)
			}
		}
		stop()
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		slow := func(ctx context.Context, _ jobs.Run) error { return wait(ctx, 10*time.Minute) }
		stop := d.run([]jobs.Job{every(t, "1h", "j", d.handler(slow))}, "a", "b", "c")
		after(t, time.Hour+time.Minute)
		run := ledger.Entry{Job: "j", Tick: d.begun.Add(time.Hour)}.ID()
		gone := d.do(commands.Command{Kind: commands.Cancel, Job: "j", Run: ledger.Entry{Job: "j", Tick: d.begun}.ID(), Reason: "x"})
		d.do(commands.Command{ID: "c", Kind: commands.Cancel, Job: "j", Run: run, Reason: "wrong data"})
		after(t, 5*time.Second)
		d.wantTicks("j", "1h0m0s cancelled: run was cancelled by ann@laptop: wrong data")
		after(t, 5*time.Minute)
		d.result(gone.ID, "the run had ended, or its replica had died")
		stop()
	})
}

// TestWithdraw: a tick of a closed request does not run.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		slow := func(ctx context.Context, _ jobs.Run) error { return wait(ctx, time.Minute) }
		list := []jobs.Job{every(t, "1h", "j", d.handler(slow))}
		after(t, 9*time.Hour+time.Second)
		stop := d.run(list, "a", "b")
		command := d.do(commands.Command{Kind: commands.Backfill, Job: "j", Reason: "lost", From: d.begun.Add(1), To: d.begun.Add(9 * time.Hour)})
		after(t, 90*time.Second)
		if err := d.commands.Close(t.Context(), command.ID, "withdrawn by bob"); err != nil {
			t.Fatal(err)
		}
		after(t, 20*time.Minute)
		d.wantRuns("backfill 1h0m0s", "backfill 2h0m0s")
		d.result(command.ID, "withdrawn by bob")
		stop()
	})
}
