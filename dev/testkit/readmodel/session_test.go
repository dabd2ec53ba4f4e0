package readmodel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/readmodel"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// A world is a cluster in memory, whose jobs do what a test says.
type world struct {
	view.Reader
	locks    *locktest.Memory
	ledger   *schedtest.Ledger
	commands *schedtest.Commands
	open     []openRun
	again    []openRun // that may run again
	sink     []checker.Effect
}

type openRun struct {
	locking.Lease
	ledger.Entry
	tick time.Time // that it has claimed
}

// newWorld has so many jobs, j0 and so on, all of which replica a serves.
func newWorld(t *rapid.T, number int) *world {
	w := &world{locks: new(locktest.Memory), commands: new(schedtest.Commands)}
	w.ledger = schedtest.NewLedger(w.locks)
	members := new(schedtest.Roster)
	now := time.Now()
	var served []roster.JobInfo
	for n := range number {
		served = append(served, roster.JobInfo{Name: fmt.Sprint("j", n), Tags: []string{"all"}, Schedule: "@daily", Definition: `{"spec":"@daily"}`, Timezone: "UTC", Replica: "a", Published: now, ConfigHash: "c"})
	}
	err := members.Publish(context.Background(), served)
	if err == nil {
		_, err = members.Beat(context.Background(), roster.Replica{ID: "a", ConfigHash: "c", State: roster.StateReady, Started: now})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Reader = view.Reader{Records: store.Records{Ledger: w.ledger, Roster: members, JobSets: members, Commands: w.commands}}
	return w
}

// claim lets a replica begin to run a tick; false: the job has a later claim, or its lease is held.
func (w *world) claim(t *rapid.T, job string, tick time.Time, replica string) (openRun, bool) {
	e := ledger.Entry{Job: job, Tick: tick, Trigger: ledger.BySchedule, Replica: replica, Outcome: ledger.Running, Started: tick}
	request := locking.Request{Name: job, Tick: tick, TTL: time.Hour, Holder: replica, Mode: locking.AtLeastOnce, Beside: true}
	if tick.UnixMilli()%700 == 0 { // a backfill of a tick of yesterday
		e.Tick, e.Order, e.Stream, e.Trigger = tick.Add(-24*time.Hour), tick, "backfill", ledger.ByBackfill
		request.Stream = e.Stream
	}
	request.Note = ledger.EncodeNote(e)
	lease, err := w.locks.TryAcquire(context.Background(), request)
	if err != nil {
		t.Logf("%s %v: %v", job, tick, err)
		return openRun{}, false
	}
	return openRun{lease, e, tick}, true
}

// end ends a run. The tick of one that lost its replica or its lease may be claimed again.
func (w *world) end(t *rapid.T, run openRun, o ledger.Outcome, took time.Duration) {
	run.Outcome, run.Finished = o, run.Started.Add(took)
	if o == ledger.Succeeded {
		w.sink = append(w.sink, checker.Effect{Tick: checker.Tick{Job: run.Job, At: run.Tick}, Token: uint64(run.Claim().Token), Replica: run.Replica, Finished: true})
	}
	end := run.Release
	if o == ledger.Interrupted || o == ledger.LeaseLost {
		end = run.HandOver
		w.again = append(w.again, run)
	}
	if run.Outcome == ledger.Interrupted && took/time.Millisecond%2 == 0 { // else it was drained
		run.Finished = time.Time{}
	}
	if err := end(context.Background(), ledger.EncodeNote(run.Entry)); err != nil {
		t.Fatal(err)
	}
}

// record is that of a tick that did not run.
func (w *world) record(t *rapid.T, job string, tick time.Time, o ledger.Outcome) {
	e := ledger.Entry{Job: job, Tick: tick, Trigger: ledger.BySchedule, Replica: "a", Outcome: o, Reason: ledger.TextReason("so")}
	if _, err := w.ledger.Record(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

// step lets something happen to the tick of a job.
func (w *world) step(t *rapid.T, job string, tick time.Time) {
	outcomes := []ledger.Outcome{ledger.Succeeded, ledger.Succeeded, ledger.Failed, ledger.TimedOut, ledger.LeaseLost, ledger.Interrupted, ledger.Cancelled, ledger.Running, ledger.Skipped, ledger.Missed}
	replica := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "replica")
	switch o := rapid.SampledFrom(outcomes).Draw(t, "outcome"); o {
	case ledger.Skipped, ledger.Missed:
		w.record(t, job, tick, o)
	case ledger.Running:
		if run, ok := w.claim(t, job, tick, replica); ok {
			w.open = append(w.open, run)
		}
	default:
		took := time.Duration(rapid.IntRange(0, 40).Draw(t, "took")) * time.Millisecond
		if run, ok := w.claim(t, job, tick, replica); ok {
			w.end(t, run, o, took)
		}
	}
}

// Whatever happens to ticks, the read model says what the whole ledger and the sink say, also while a survey
// continues; and it knows all of it when nothing happens any more.
func TestReadModelIsTrue(t *testing.T) {
	t.Parallel()
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.IntRange(1, 4).Draw(rt, "jobs")
		w, session := newWorld(rt, number), new(readmodel.Session)
		tick := time.Now().Truncate(time.Second).Add(-50 * time.Second) // a survey that continues reads a minute again
		compare := func(quiet bool) {
			result, err := session.Compare(t.Context(), w.Reader, quiet, func() []checker.Effect { return w.sink })
			if err != nil || len(result.Lies) > 0 || len(result.Compared) != number {
				rt.Fatalf("%d of %d jobs compared, %v: %v", len(result.Compared), number, err, result.Lies)
			}
		}
		for range rapid.IntRange(0, 4).Draw(rt, "views") {
			for _, run := range w.again {
				if next, ok := w.claim(rt, run.Job, run.tick, "c"); ok && rapid.Bool().Draw(rt, "succeeds") {
					w.end(rt, next, ledger.Succeeded, time.Millisecond)
				}
			}
			w.again = nil
			for range rapid.IntRange(0, 25).Draw(rt, "ticks") {
				job := fmt.Sprint("j", rapid.IntRange(0, number-1).Draw(rt, "job"))
				w.step(rt, job, tick)
				tick = tick.Add(100 * time.Millisecond)
			}
			for range 60 * rapid.IntRange(0, 1).Draw(rt, "outages") { // longer than what is read to find a success
				w.record(rt, "j0", tick, ledger.Missed)
				tick = tick.Add(100 * time.Millisecond)
			}
			for range 40 * rapid.IntRange(0, 1).Draw(rt, "successes") { // enough for a p95
				if run, ok := w.claim(rt, "j0", tick, "a"); ok {
					w.end(rt, run, ledger.Succeeded, time.Duration(len(w.sink)*37%100)*time.Millisecond)
				}
				tick = tick.Add(100 * time.Millisecond)
			}
			for _, run := range w.open {
				if rapid.Bool().Draw(rt, "ends") {
					w.end(rt, run, ledger.Failed, time.Second)
				}
			}
			w.open = nil // the others run to the end
			if keep := rapid.IntRange(1, 100).Draw(rt, "keep"); keep < 40 {
				if err := w.ledger.Store(t.Context(), "j0", jobs.History{Keep: keep}); err != nil {
					rt.Fatal(err)
				}
				w.record(rt, "j0", tick, ledger.Skipped) // replicas drop ticks when another one has ended
				tick = tick.Add(100 * time.Millisecond)
			}
			if rapid.IntRange(0, 3).Draw(rt, "pauses") == 0 {
				pause := commands.Command{Kind: commands.Pause, By: "x", Reason: "so", All: true}
				if rapid.Bool().Draw(rt, "one") {
					pause.All, pause.Job = false, "j0"
				}
				if _, err := w.commands.Do(t.Context(), pause); err != nil {
					rt.Fatal(err)
				}
			}
			compare(false)
		}
		compare(true)
		compared++
	})
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
