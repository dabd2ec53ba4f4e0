package readmodel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/readmodel"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

var begun = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func at(second int) time.Time { return begun.Add(time.Duration(second) * time.Second) }

// facts are those of a job with thirty ticks, a second apart:
//
//	 0 to 19  succeeded, each run one millisecond longer than the one before;
//	          5 and 6 with a claim that only a minority of nodes knows, before and after
//	20        interrupted on b, and succeeded on a
//	21        skipped
//	22        failed
//	23        missed
//	24        running
//	25 to 29  skipped
func facts() readmodel.Facts {
	var entries []ledger.Entry
	var sink []checker.Effect
	token := locking.Token(0)
	add := func(second int, o ledger.Outcome, replica string, took time.Duration) {
		e := ledger.Entry{Job: "j", Tick: at(second), Outcome: o, Replica: replica}
		if e.Outcome != ledger.Skipped && e.Outcome != ledger.Missed {
			token++
			e.Token, e.Started = token, at(second)
			if took > 0 {
				e.Finished = e.Started.Add(took)
			}
		}
		entries = append(entries, e)
		if o == ledger.Succeeded {
			sink = append(sink, checker.Effect{Tick: checker.Tick{Job: "j", At: at(second)}, Token: uint64(token), Replica: replica, Finished: true})
		}
	}
	doubtful := func(second int) {
		add(second, ledger.Interrupted, "b", 0)
		entries[len(entries)-1].Reason = ledger.Reason{Code: ledger.CodeInterrupted, Variant: ledger.VariantDoubtful}
	}
	for second := range 20 {
		if second == 5 {
			doubtful(second)
		}
		add(second, ledger.Succeeded, "a", time.Duration(second+1)*time.Millisecond)
		if second == 6 {
			doubtful(second)
		}
	}
	add(20, ledger.Interrupted, "b", 0)
	add(20, ledger.Succeeded, "a", 21*time.Millisecond)
	add(21, ledger.Skipped, "b", 0)
	add(22, ledger.Failed, "c", time.Second)
	add(23, ledger.Missed, "a", 0)
	add(24, ledger.Running, "c", 0)
	for second := 25; second < 30; second++ {
		add(second, ledger.Skipped, "c", 0)
	}
	return readmodel.Facts{Entries: map[string][]ledger.Entry{"j": entries}, Paused: map[string]bool{}, Sink: sink, Quiet: true}
}

// honest is the true answer to these facts.
func honest() readmodel.Answer {
	missed := readmodel.Tick{At: at(23), Outcome: ledger.Missed, Replica: "a"}
	return readmodel.Answer{
		Job: "j", Newest: &readmodel.Tick{At: at(29), Outcome: ledger.Skipped, Replica: "c"}, Need: new(true), Paused: new(false),
		Streaks: []readmodel.Streak{{Last: missed, Good: at(20), InARow: 2}},
		Spans: []readmodel.Span{{
			Name: "all", Plain: true,
			Outcomes: map[ledger.Outcome]int{ledger.Succeeded: 21, ledger.Failed: 1, ledger.Missed: 1, ledger.Running: 1, ledger.Skipped: 6},
			Runs:     23, Failures: 1, Timed: 21, P50: 11 * time.Millisecond, P95: 20 * time.Millisecond,
		}, {
			Name: "trouble", Failures: 1,
			Outcomes: map[ledger.Outcome]int{ledger.Succeeded: 1, ledger.Failed: 1, ledger.Missed: 1, ledger.Running: 1},
		}},
	}
}

// Each lie about a job is found, and named.
func TestPlantedLies(t *testing.T) {
	t.Parallel()
	type answer = readmodel.Answer
	for name, tt := range map[string]struct {
		lie     func(a *answer)
		figures string // of the lies
	}{
		"a success counts as a failure": {func(a *answer) { a.Spans[0].Failures++ }, "all, failures"},
		"a failure counts as a success": {func(a *answer) {
			a.Spans[0].Outcomes[ledger.Failed]--
			a.Spans[0].Outcomes[ledger.Succeeded]++
		}, "all, succeeded|all, failed|all, succeeded"}, // the sink has not seen it, either
		"a run is counted twice":                     {func(a *answer) { a.Spans[0].Runs++ }, "all, runs"},
		"p95 of too many runs":                       {func(a *answer) { a.Spans[0].Timed++ }, "all, runs behind the percentiles"},
		"p95 is the longest":                         {func(a *answer) { a.Spans[0].P95 = 21 * time.Millisecond }, "all, p95"},
		"p50 is of two runs":                         {func(a *answer) { a.Spans[0].P50 += time.Millisecond / 2 }, "all, p50"},
		"a run that has ended still runs":            {func(a *answer) { a.Newest.Outcome = ledger.Running }, "newest outcome"},
		"a run that goes on has ended":               {func(a *answer) { a.Spans[1].Outcomes[ledger.Running]-- }, "trouble, running"},
		"the newest tick is an older one":            {func(a *answer) { a.Newest.At = at(28) }, "newest tick"},
		"the newest tick is of another replica":      {func(a *answer) { a.Newest.Replica = "a" }, "newest replica"},
		"it has had no tick":                         {func(a *answer) { a.Newest = nil }, "newest tick"},
		"the streak is one too long":                 {func(a *answer) { a.Streaks[0].InARow++ }, "in a row"},
		"the streak lacks one":                       {func(a *answer) { a.Streaks[0].InARow-- }, "in a row"},
		"the last good is an earlier one":            {func(a *answer) { a.Streaks[0].Good = at(19) }, "last good"},
		"the last good is one that failed":           {func(a *answer) { a.Streaks[0].Good = at(22) }, "last good|last good"},
		"the last tick that ended is another one":    {func(a *answer) { a.Streaks[0].Last.At = at(22) }, "last ended"},
		"the missed tick has failed":                 {func(a *answer) { a.Streaks[0].Last.Outcome = ledger.Failed }, "last outcome"},
		"no success, from a bounded window":          {func(a *answer) { a.Streaks[0].Good = time.Time{} }, "last good"},
		"a window that it has not read":              {func(a *answer) { a.Streaks[0].Since = at(21) }, "last good"},
		"since when is too late":                     {func(a *answer) { a.Streaks[0] = streakSince(23, 2) }, "in a row"},
		"a span of which it lacks a part":            {func(a *answer) { a.Spans[1].Since = at(21) }, "trouble, since|trouble, succeeded|trouble, succeeded"},
		"a span that was not asked for":              {func(a *answer) { a.Spans[0].From = at(0); a.Spans[0].Since = at(-1) }, "all, since"},
		"a tick from outside of the span":            {func(a *answer) { a.Spans[1].Since = at(23) }, "trouble, since|trouble, succeeded|trouble, failed|trouble, failures|trouble, succeeded"},
		"trouble is forgotten":                       {func(a *answer) { a.Spans[1].Outcomes[ledger.Succeeded] = 0 }, "trouble, succeeded"},
		"a dropped success is newer than a kept one": {func(a *answer) { a.Streaks[0].Dropped = at(20) }, "last good, dropped|last good, dropped"},
		"it is not in need":                          {func(a *answer) { a.Need = new(false) }, "in need"},
		"it is paused":                               {func(a *answer) { a.Paused = new(true) }, "paused"},
		"it is another job":                          {func(a *answer) { a.Job = "k" }, "job|job"},
	} {
		a := honest()
		tt.lie(&a)
		lies := readmodel.Check([]readmodel.Answer{a}, facts())
		if got := figures(lies); got != tt.figures {
			t.Errorf("%s: found %q, want %q: %v", name, got, tt.figures, lies)
		}
	}
}

// streakSince is a streak without a success since a second.
func streakSince(second, inARow int) readmodel.Streak {
	return readmodel.Streak{Last: readmodel.Tick{At: at(23), Outcome: ledger.Missed, Replica: "a"}, InARow: inARow, Since: at(second)}
}

// figures are those of lies.
func figures(lies []readmodel.Lie) string {
	var list []string
	for _, l := range lies {
		list = append(list, l.Figure)
	}
	return strings.Join(list, "|")
}

// What is true passes, and so does what the answer does not know; but at the end it cannot be everything.
func TestTrueAnswers(t *testing.T) {
	t.Parallel()
	f := facts()
	if lies := readmodel.Check([]readmodel.Answer{honest()}, f); len(lies) > 0 {
		t.Errorf("the truth: %v", lies)
	}
	bounded := honest()
	bounded.Paused, bounded.Need = nil, nil
	bounded.Streaks = []readmodel.Streak{streakSince(22, 2), streakSince(23, 1)}
	bounded.Spans = []readmodel.Span{{From: at(0), Since: at(24), Outcomes: map[ledger.Outcome]int{ledger.Running: 1}}}
	f.Quiet = false
	if lies := readmodel.Check([]readmodel.Answer{bounded}, f); len(lies) > 0 {
		t.Errorf("a part of the truth: %v", lies)
	}
	f.Quiet = true
	if got := figures(readmodel.Check([]readmodel.Answer{bounded}, f)); got != ", since" {
		t.Errorf("at the end a part is found as %q", got)
	}
	unknown := readmodel.Answer{Job: "j", Streaks: []readmodel.Streak{{Since: at(30)}}}
	if got := figures(readmodel.Check([]readmodel.Answer{unknown}, f)); got != "newest tick|everything" {
		t.Errorf("an answer that knows nothing is found as %q", got)
	}
	if got := figures(readmodel.Check(nil, f)); got != "job" {
		t.Errorf("no answer is found as %q", got)
	}
}

// The ledger may know when the last success was although it has dropped the record.
func TestDroppedSuccess(t *testing.T) {
	t.Parallel()
	f := facts()
	f.Entries["j"] = slices.DeleteFunc(f.Entries["j"], func(e ledger.Entry) bool { return e.Tick.Before(at(21)) })
	f.Trimmed = map[string]time.Time{"j": at(20)}
	for second, want := range map[int]string{20: "", 19: "", 21: "last good, dropped|last good, dropped"} {
		s := streakSince(21, 2)
		s.Dropped = at(second)
		a := readmodel.Answer{Job: "j", Newest: honest().Newest, Streaks: []readmodel.Streak{s}}
		if got := figures(readmodel.Check([]readmodel.Answer{a}, f)); got != want {
			t.Errorf("a success at %d: found %q, want %q", second, got, want)
		}
	}
}

// The ledger calls a run successful that the sink has not seen.
func TestSuccessWithoutEffect(t *testing.T) {
	t.Parallel()
	f := facts()
	f.Sink = f.Sink[:len(f.Sink)-1]
	if got := figures(readmodel.Check([]readmodel.Answer{honest()}, f)); got != "last good|all, succeeded|trouble, succeeded" {
		t.Errorf("found %q", got)
	}
	f.Sink = nil // the jobs write nothing
	if lies := readmodel.Check([]readmodel.Answer{honest()}, f); len(lies) > 0 {
		t.Errorf("without a sink: %v", lies)
	}
	lie := readmodel.Lie{Job: "j", Figure: "in a row", Said: "3", True: "2"}
	if text := lie.String(); text != "j: in a row: said 3, true is 2" {
		t.Errorf("%q", text)
	}
}
