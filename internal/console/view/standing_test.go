package view_test

import (
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
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
	want := map[string]struct {
		needs  bool
		inARow int
		last   ledger.Outcome
		since  bool
	}{
		"missed": {true, 3, missed, false}, "paused": {true, 2, missed, false},
		"long paused": {false, 0, "", true}, "long missed": {true, 48, missed, true},
	}
	for _, j := range p.Items {
		w, s := want[j.Job], j.Standing
		if s.NeedsYou() != w.needs || s.InARow != w.inARow || s.Last.Outcome != w.last || s.Since.IsZero() == w.since || !s.Good.Tick.IsZero() {
			t.Errorf("%s: %d in a row, last %q at %s, last good %s, read since %s", j.Job, s.InARow, s.Last.Outcome, s.Last.Tick, s.Good.Tick, s.Since)
		}
	}
	if len(p.Items) != len(want) {
		t.Errorf("%d jobs, want %d", len(p.Items), len(want))
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

// Who has the rarest ticks comes first, and a job that nobody serves is not in need.
func TestInNeed(t *testing.T) {
	t.Parallel()
	now := start
	job := func(name, schedule string, last time.Duration, live bool) view.Job {
		j := view.Job{Job: name, Key: name, Live: live, Info: roster.JobInfo{Name: name, Schedule: schedule, Definition: `{"spec":"` + schedule + `"}`, Timezone: "UTC"}}
		j.Standing = view.Standing{InARow: 1, Last: ledger.Entry{Job: name, Tick: now.Add(-last), Outcome: ledger.Failed}}
		return j
	}
	good := job("good", "@hourly", time.Minute, true)
	good.Standing.InARow = 0
	list := view.InNeed([]view.Job{
		job("often", "@every 10s", time.Second, true), job("nightly", "@daily", 20*time.Hour, true), job("later", "@hourly", time.Minute, true),
		job("earlier", "@hourly", 2*time.Hour, true), job("earlier", "@hourly", 2*time.Hour, true), job("gone", "@yearly", time.Hour, false), good,
	}, now)
	var names []string
	for _, j := range list {
		names = append(names, j.Job)
	}
	if !slices.Equal(names, []string{"nightly", "later", "earlier", "often"}) {
		t.Errorf("in need are %q", names)
	}
}
