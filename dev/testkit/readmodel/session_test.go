package readmodel_test

import (
	"context"
	"fmt"
	"strings"
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
	jobs     int
	tick     time.Time // the last
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
func newWorld(t rapid.TB, number int) *world {
	now := time.Now().Truncate(time.Second)
	w := &world{locks: new(locktest.Memory), commands: new(schedtest.Commands), jobs: number}
	w.tick = now.Add(-55 * time.Second) // a survey that continues reads a minute again
	w.ledger = schedtest.NewLedger(w.locks)
	members := new(schedtest.Roster)
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

// next is another tick.
func (w *world) next() time.Time {
	w.tick = w.tick.Add(100 * time.Millisecond)
	return w.tick
}

// claim lets a replica begin to run a tick; false: the job has a later claim, or its lease is held.
func (w *world) claim(t rapid.TB, job string, tick time.Time, replica string) (openRun, bool) {
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
func (w *world) end(t rapid.TB, run openRun, o ledger.Outcome, took time.Duration) {
	run.Outcome, run.Finished = o, run.Started.Add(took)
	if o == ledger.Succeeded {
		for _, at := range []time.Time{run.Tick, run.tick} { // a success whose record was dropped is known by its request
			w.sink = append(w.sink, checker.Effect{Tick: checker.Tick{Job: run.Job, At: at}, Token: uint64(run.Claim().Token), Replica: run.Replica, Finished: true})
		}
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
func (w *world) record(t rapid.TB, job string, tick time.Time, o ledger.Outcome) {
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

// happen lets several ticks of jobs come, some in long rows, and earlier runs end or begin again.
func (w *world) happen(t *rapid.T) {
	for _, run := range w.again {
		if next, ok := w.claim(t, run.Job, run.tick, "c"); ok && rapid.Bool().Draw(t, "succeeds") {
			w.end(t, next, ledger.Succeeded, time.Millisecond)
		}
	}
	w.again = nil
	for range rapid.IntRange(0, 25).Draw(t, "ticks") {
		w.step(t, fmt.Sprint("j", rapid.IntRange(0, w.jobs-1).Draw(t, "job")), w.next())
	}
	for range 60 * rapid.IntRange(0, 1).Draw(t, "outages") { // longer than what is read to find a success
		w.record(t, "j0", w.next(), ledger.Missed)
	}
	for range 40 * rapid.IntRange(0, 1).Draw(t, "successes") { // enough for a p95
		if run, ok := w.claim(t, "j0", w.next(), "a"); ok {
			w.end(t, run, ledger.Succeeded, time.Duration(len(w.sink)*37%100)*time.Millisecond)
		}
	}
	for _, run := range w.open {
		if rapid.Bool().Draw(t, "ends") {
			w.end(t, run, ledger.Failed, time.Second)
		}
	}
	w.open = nil // the others run to the end
}

// tidy lets a replica drop ticks as it does when another one has ended, and a person pause jobs.
func (w *world) tidy(t *rapid.T) {
	var err error
	if keep := rapid.IntRange(1, 100).Draw(t, "keep"); keep < 40 {
		err = w.ledger.Store(context.Background(), "j0", jobs.History{Keep: keep})
		w.record(t, "j0", w.next(), ledger.Skipped)
	}
	if err == nil && rapid.IntRange(0, 3).Draw(t, "pauses") == 0 {
		pause := commands.Command{Kind: commands.Pause, By: "x", Reason: "so", All: true}
		if rapid.Bool().Draw(t, "one") {
			pause.All, pause.Job = false, "j0"
		}
		_, err = w.commands.Do(context.Background(), pause)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to ticks, the read model says what the whole ledger and the sink say, also while a survey
// continues; and it knows all of it when nothing happens any more.
func TestReadModelIsTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w, session := newWorld(rt, rapid.IntRange(1, 4).Draw(rt, "jobs")), new(readmodel.Session)
		compare := func(quiet bool) {
			result, err := session.Compare(t.Context(), w.Reader, quiet, func() []checker.Effect { return w.sink })
			if err != nil || len(result.Lies) > 0 || len(result.Compared) != w.jobs {
				rt.Fatalf("%d of %d jobs compared, %v: %v", len(result.Compared), w.jobs, err, result.Lies)
			}
		}
		for range rapid.IntRange(0, 4).Draw(rt, "views") {
			w.happen(rt)
			w.tidy(rt)
			compare(false)
		}
		compare(true)
	})
}

// A strangeLedger does something of its own when the read model reads.
type strangeLedger struct {
	*schedtest.Ledger
	skimmed func([]ledger.Skimmed)
}

func (l strangeLedger) Skim(ctx context.Context, ask []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	found, err := l.Ledger.Skim(ctx, ask, perTick)
	l.skimmed(found)
	return found, err
}

// A job that changes until the last try, and lies then, may have lied for a moment. A lie in two tries is one.
func TestLieInTheLastTry(t *testing.T) {
	t.Parallel()
	for from, lies := range map[int]bool{5: false, 4: true} { // of six
		w, try := newWorld(t, 1), 0
		w.record(t, "j0", w.next(), ledger.Skipped)
		w.Records.Ledger = strangeLedger{w.ledger, func(found []ledger.Skimmed) {
			if try < from {
				w.record(t, "j0", w.next(), ledger.Missed)
			}
			for i := range found {
				if n := len(found[i].Entries); try >= from {
					found[i].Entries = found[i].Entries[min(n, 1):]
				}
			}
		}}
		result, err := new(readmodel.Session).Compare(t.Context(), w.Reader, false, func() []checker.Effect {
			try++
			return nil
		})
		if err != nil || (len(result.Lies) > 0) != lies || (len(result.Changing) > 0) == lies {
			t.Errorf("a lie from try %d on: %+v, %v", from, result, err)
		}
	}
}

// A job that changes with each read is not compared. One of which the read model lacks the last tick is found.
func TestCompareWhileItChanges(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		skimmed  func(w *world, found []ledger.Skimmed)
		changing int
		lie      string
	}{
		"at rest":    {func(*world, []ledger.Skimmed) {}, 0, ""},
		"it changes": {func(w *world, _ []ledger.Skimmed) { w.record(t, "j0", w.next(), ledger.Missed) }, 1, ""},
		"it lacks the last tick": {func(_ *world, found []ledger.Skimmed) {
			for i := range found {
				found[i].Entries = found[i].Entries[min(len(found[i].Entries), 1):]
			}
		}, 0, "newest tick"},
	} {
		w := newWorld(t, 1)
		w.record(t, "j0", w.next(), ledger.Skipped)
		w.record(t, "j0", w.next(), ledger.Missed)
		w.Records.Ledger = strangeLedger{w.ledger, func(found []ledger.Skimmed) { tt.skimmed(w, found) }}
		result, err := new(readmodel.Session).Compare(t.Context(), w.Reader, true, func() []checker.Effect { return nil })
		if err != nil || len(result.Changing) != tt.changing || len(result.Compared) != 1-tt.changing {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if got, _, _ := strings.Cut(figures(result.Lies), "|"); got != tt.lie {
			t.Errorf("%s: the first lie is %q, want %q", name, got, tt.lie)
		}
	}
}
