package catchup

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// everySecond is the schedule of a job.
type everySecond struct{}

func (everySecond) Next(after time.Time) time.Time {
	return after.Truncate(time.Second).Add(time.Second)
}

// A past has the ticks after the last run, except those that a policy has decided.
func TestUndecidedPast(t *testing.T) {
	t.Parallel()
	definition := jobs.Job{Name: "j", Schedule: everySecond{}}
	second := job.New(definition)
	definition.CatchUp = jobs.CatchUp{Mode: jobs.CatchUpAll, Window: time.Hour}
	catching := job.New(definition)
	entry := func(s int, o ledger.Outcome, code ledger.Code) ledger.Entry {
		return ledger.Entry{Job: "j", Tick: noon.Add(time.Duration(s) * time.Second), Outcome: o, Reason: ledger.Reason{Code: code}}
	}
	manual := entry(4, ledger.Succeeded, "")
	manual.Stream = "manual"
	tests := []struct {
		name    string
		span    Span
		entries []ledger.Entry // newest first
		ticks   []int          // seconds after noon
		lost    int            // the first of these that can no longer be claimed
	}{
		{"a new job", Span{Job: catching}, nil, nil, 0},
		{"known by hand only", Span{Job: catching}, []ledger.Entry{manual}, nil, 0},
		{"after the last run", Span{Job: catching}, []ledger.Entry{entry(2, ledger.Succeeded, "")}, []int{3, 4, 5}, 0},
		{"a run goes on", Span{Job: catching}, []ledger.Entry{manual, entry(3, ledger.Running, "")}, []int{4, 5}, 0},
		{"missed for want of a quorum", Span{Job: catching}, []ledger.Entry{entry(3, ledger.Missed, ledger.CodeNoQuorum), entry(2, ledger.Failed, "")}, []int{3, 4, 5}, 0},
		{"decided by policy", Span{Job: catching}, []ledger.Entry{entry(4, ledger.Missed, ledger.CodeCatchUp), entry(3, ledger.Skipped, ledger.CodeOverlap), entry(2, ledger.Failed, "")}, []int{5}, 0},
		{"nothing has ever run", Span{Job: catching}, []ledger.Entry{entry(4, ledger.Missed, ledger.CodeNoQuorum)}, []int{4, 5}, 0},
		{"nothing is caught up", Span{Job: second}, []ledger.Entry{entry(3, ledger.Missed, ledger.CodeNoQuorum), entry(1, ledger.Failed, "")}, []int{4, 5}, 0},
		{"from where it slept", Span{Job: catching, From: noon.Add(4 * time.Second)}, nil, []int{4, 5}, 0},
		{"others were awake", Span{Job: catching, From: noon.Add(2 * time.Second)}, []ledger.Entry{
			entry(4, ledger.Running, ""), entry(3, ledger.Missed, ledger.CodeNoQuorum), entry(2, ledger.Failed, ""), entry(1, ledger.Failed, ""),
		}, []int{5}, 0},
		{"others ran other ticks", Span{Job: catching, From: noon.Add(time.Second)}, []ledger.Entry{
			entry(4, ledger.Running, ""), entry(2, ledger.Skipped, ledger.CodeOverlap), {Job: "j", Tick: noon.Add(-time.Millisecond), Outcome: ledger.Failed},
		}, []int{1, 3, 5}, 2},
	}
	for _, tt := range tests {
		tt.span.Before = noon.Add(6 * time.Second)
		u, err := tt.span.findUndecided(t.Context(), entriesOf(tt.entries), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, t := range slices.Concat(u.Gone, u.Ticks) {
			got = append(got, int(t.At.Sub(noon)/time.Second))
		}
		if !slices.Equal(got, tt.ticks) {
			t.Errorf("%s: ticks %v, want %v", tt.name, got, tt.ticks)
		}
		if lost := len(u.Gone); lost != tt.lost {
			t.Errorf("%s: %d ticks cannot be claimed, want %d", tt.name, lost, tt.lost)
		}
	}
}

// A long past is bounded, and marked as such.
func TestLongPast(t *testing.T) {
	t.Parallel()
	p := Span{Job: job.New(jobs.Job{Name: "j", Schedule: everySecond{}}), Before: noon}
	begun := noon.AddDate(-1, 0, 0)
	u, err := p.findUndecided(t.Context(), entriesOf{{Job: "j", Tick: begun, Outcome: ledger.Succeeded}}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	first, last := u.Ticks[0].At, u.Ticks[len(u.Ticks)-1].At
	if len(u.Ticks) != maxPast || !last.Equal(noon.Add(-time.Second)) || !first.Equal(u.Before) || !u.First.Equal(begun.Add(time.Second)) {
		t.Errorf("%d ticks from %v to %v; left out %v to %v", len(u.Ticks), first, last, u.First, u.Before)
	}
	if rest := u.Gone[0]; !rest.At.Before(first) || !strings.Contains(rest.Why.String(), "all ticks since 2025") {
		t.Errorf("the tick that stands for the rest: %+v", rest)
	}
}

// trimmedEntries are left in a ledger that has dropped entries up to a tick.
type trimmedEntries struct {
	entriesOf
	upTo time.Time
}

func (l trimmedEntries) Skim(_ context.Context, list []ledger.Stretch, _ bool) ([]ledger.Skimmed, error) {
	return slices.Repeat([]ledger.Skimmed{{Trimmed: l.upTo}}, len(list)), nil
}

func (trimmedEntries) Search(context.Context, []ledger.Stretch) ([]ledger.Skimmed, error) {
	return nil, nil
}

// The account is old. Dropped entries do not count as ticks that nobody ran.
func TestTrimmedHistoryIsNotMissed(t *testing.T) {
	t.Parallel()
	for upTo, want := range map[int]int{4: 2, 2: 4, 0: 6} {
		j := job.New(jobs.Job{Name: "j", Schedule: everySecond{}})
		p := Span{Job: j, Before: noon.Add(10 * time.Second), published: published{versions: map[string][]roster.JobInfo{
			"j": {{Name: "j", Account: roster.Account{First: noon.AddDate(0, 0, -1), Until: noon.Add(time.Second)}}},
		}}}
		kept := trimmedEntries{upTo: noon.Add(time.Duration(upTo) * time.Second)}
		for _, s := range []int{7, 6, 5} {
			kept.entriesOf = append(kept.entriesOf, ledger.Entry{Job: "j", Tick: noon.Add(time.Duration(s) * time.Second), Outcome: ledger.Succeeded})
		}
		u, err := p.findUndecided(t.Context(), kept, time.Second)
		if got := len(u.Gone) + len(u.Ticks); err != nil || got != want {
			t.Errorf("trimmed up to second %d: %d ticks lack an entry, %v; want %d", upTo, got, err, want)
		}
	}
}

// entriesOf is a ledger of one job with these entries, newest first.
type entriesOf []ledger.Entry

func (l entriesOf) Record(context.Context, ledger.Entry) (bool, error)         { return true, nil }
func (l entriesOf) Runs(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, nil }
func (l entriesOf) Ticks(_ context.Context, q ledger.Query) ([]ledger.Entry, error) {
	var list []ledger.Entry
	for _, e := range l {
		if e.Tick.Before(q.Before) && len(list) < q.Limit {
			list = append(list, e)
		}
	}
	return list, nil
}
