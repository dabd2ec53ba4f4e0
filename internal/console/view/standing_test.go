package view_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A job's standing rests on the last tick that says something, however many skipped ones came later.
func TestStandings(t *testing.T) {
	t.Parallel()
	var entries []ledger.Entry
	add := func(job string, outcomes ...ledger.Outcome) {
		for i, o := range outcomes { // the newest first
			e := skipped(job, 1000-i, o, "")
			if e.Ran() {
				e.Token, e.Replica = 1, "a"
			}
			entries = append(entries, e)
		}
	}
	repeat := func(o ledger.Outcome, n int) []ledger.Outcome { return slices.Repeat([]ledger.Outcome{o}, n) }
	const missed, skip = ledger.Missed, ledger.Skipped
	add("missed", missed, missed, skip, missed)
	add("paused", slices.Concat(repeat(skip, 40), repeat(missed, 2))...)
	add("long paused", repeat(skip, 200)...)
	add("long missed", repeat(missed, 200)...)
	r, _ := cluster(t, entries)
	p, err := r.Jobs(t.Context(), view.JobQuery{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"missed": 3, "paused": 2, "long paused": 0, "long missed": 48}
	for _, j := range p.Items {
		if j.Unsuccessful != want[j.Job] || j.LastSuccess != nil {
			t.Errorf("%s: %d without success, the last at %s, want %d", j.Job, j.Unsuccessful, view.Text(j.LastSuccess), want[j.Job])
		}
	}
	if len(p.Items) != len(want) {
		t.Errorf("%d jobs, want %d", len(p.Items), len(want))
	}
}

// The last success stays known after its record was dropped, unless entries between were not read. Ticks in a row
// are counted as far as they were read.
func TestLastSuccessWasDropped(t *testing.T) {
	t.Parallel()
	r, reads := cluster(t, []ledger.Entry{skipped("few", 0, ledger.Missed, ""), skipped("many", 0, ledger.Missed, ""), skipped("never", 0, ledger.Missed, "")})
	for job, outcomes := range map[string][]ledger.Outcome{"few": {ledger.Failed, ledger.Succeeded}, "many": {ledger.Succeeded, ledger.Failed}, "never": {ledger.Failed, ledger.Failed}} {
		for n := range 80 {
			o := ledger.Failed
			if n < len(outcomes) {
				o = outcomes[n]
			}
			e := skipped(job, n, o, "")
			lease, err := reads.locks.TryAcquire(t.Context(), locking.Request{Name: job, Tick: e.Tick, TTL: time.Minute, Holder: "a", Note: ledger.EncodeNote(e)})
			if err == nil {
				err = lease.Release(t.Context(), ledger.EncodeNote(e))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for job, keep := range map[string]int{"few": 40, "many": 60, "never": 40} {
		if err := reads.Store(t.Context(), job, jobs.History{Keep: keep}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := r.Jobs(t.Context(), view.JobQuery{})
	if err != nil || len(p.Items) != 3 {
		t.Fatal(err, p)
	}
	for _, j := range p.Items {
		want := map[string]string{"few": "2026-12-01T02:00:01Z"}[j.Job]
		if text := view.Text(j.LastSuccess); text != want || j.SuccessDropped != (want != "") || !strings.HasPrefix(j.Trouble(), "at least 4") {
			t.Errorf("%s: last success %q, dropped %t, %s; want %q", j.Job, text, j.SuccessDropped, j.Trouble(), want)
		}
	}
}

// However many jobs do not succeed, a bounded number of their ticks is read.
func TestStandingsAreBounded(t *testing.T) {
	t.Parallel()
	var entries []ledger.Entry
	for n := range 200 {
		for second := range 30 {
			entries = append(entries, skipped("job"+string(rune('a'+n%26))+string(rune('a'+n/26)), second, ledger.Missed, ""))
		}
	}
	r, reads := cluster(t, entries)
	if _, err := r.Jobs(t.Context(), view.JobQuery{}); err != nil {
		t.Fatal(err)
	}
	if n := reads.reads.Load(); n != 2 {
		t.Errorf("%d reads", n)
	}
	if n := reads.entries.Load(); n > 200*3+20*30 {
		t.Errorf("%d entries were read", n)
	}
}

// Who has the rarest ticks comes first, and a job that nobody serves is not in need. Nothing is read again of jobs
// without a new tick, but of those whose last tick may run again.
func TestInNeed(t *testing.T) {
	t.Parallel()
	var entries []ledger.Entry
	for second, job := range []string{"often", "later", "earlier", "nightly", "gone", "good"} {
		outcome := ledger.Missed
		if job == "good" {
			outcome = ledger.Skipped
		}
		entries = append(entries, skipped(job, 100-second, outcome, ""))
	}
	r, reads := cluster(t, entries)
	r.Standings = new(view.Standings)
	served := []roster.JobInfo{{Name: "gone", Schedule: "@hourly", Definition: `{"spec":"@hourly"}`, Timezone: "UTC", Replica: "z", Published: start.Add(time.Hour), ConfigHash: "z"}}
	for job, spec := range map[string]string{"often": "@every 10s", "nightly": "@daily", "later": "@hourly", "earlier": "@hourly", "good": "@hourly"} {
		served = append(served, roster.JobInfo{Name: job, Schedule: spec, Definition: `{"spec":"` + spec + `"}`, Timezone: "UTC", Replica: "a", Published: start.Add(time.Hour), ConfigHash: "c"})
	}
	if err := r.Records.Roster.Publish(t.Context(), served); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Records.Roster.Beat(t.Context(), roster.Replica{ID: "a", ConfigHash: "c", State: roster.StateReady, Started: start.Add(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	inNeed := func() (names []string, read int64) {
		t.Helper()
		before := reads.reads.Load()
		list, err := r.InNeed(t.Context(), newestOf(t, r), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list {
			names = append(names, j.Job)
		}
		return names, reads.reads.Load() - before
	}
	for _, want := range []int64{2, 1} {
		if names, n := inNeed(); !slices.Equal(names, []string{"nightly", "later", "earlier", "often"}) || n != want {
			t.Errorf("in need are %q, by %d reads, want %d", names, n, want)
		}
	}
	if _, err := reads.Record(t.Context(), skipped("good", 200, ledger.Missed, "")); err != nil {
		t.Fatal(err)
	}
	if names, n := inNeed(); !slices.Equal(names, []string{"nightly", "good", "later", "earlier", "often"}) || n != 2 {
		t.Errorf("after another tick: %q, by %d reads", names, n)
	}
}

// A tick whose replica died may run again after a later one was missed. Who remembers how the job stands learns of it,
// although the newest tick is the same.
func TestStandingOfATickThatRunsAgain(t *testing.T) {
	t.Parallel()
	r, store := cluster(t, []ledger.Entry{skipped("j", 0, ledger.Skipped, ""), skipped("j", 20, ledger.Missed, "")})
	r.Standings = new(view.Standings)
	served := roster.JobInfo{Name: "j", Schedule: "@hourly", Definition: `{"spec":"@hourly"}`, Timezone: "UTC", Replica: "a", Published: start.Add(time.Hour), ConfigHash: "c"}
	if err := r.Records.Roster.Publish(t.Context(), []roster.JobInfo{served}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Records.Roster.Beat(t.Context(), roster.Replica{ID: "a", ConfigHash: "c", State: roster.StateReady, Started: start}); err != nil {
		t.Fatal(err)
	}
	run := func(o ledger.Outcome) {
		t.Helper()
		e := ledger.Entry{Job: "j", Tick: start.Add(10 * time.Second), Trigger: ledger.BySchedule, Replica: "a", Outcome: ledger.Running, Started: start.Add(10 * time.Second)}
		lease, err := store.locks.TryAcquire(t.Context(), locking.Request{Name: e.Job, Tick: e.Tick, TTL: time.Hour, Holder: "a", Mode: locking.AtLeastOnce, Note: ledger.EncodeNote(e)})
		if err != nil {
			t.Fatal(err)
		}
		end := lease.Release
		if e.Outcome = o; o == ledger.Interrupted {
			end = lease.HandOver
		}
		if err := end(t.Context(), ledger.EncodeNote(e)); err != nil {
			t.Fatal(err)
		}
	}
	stands := func(want int) {
		t.Helper()
		list, err := r.InNeed(t.Context(), newestOf(t, r), time.Now())
		if err != nil || len(list) != 1 || list[0].InARow != want {
			t.Errorf("in need is %+v, %v, want %d in a row", list, err, want)
		}
	}
	run(ledger.Interrupted)
	stands(2)
	run(ledger.Succeeded)
	stands(1)
}
