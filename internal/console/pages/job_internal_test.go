package pages

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// ran are ticks a minute apart, newest first, each by the seconds that a success took; 0: missed; -1: failed after a second; -2: it
// runs, on a; -3: skipped.
func ran(seconds ...int) (list []view.Tick) {
	for i, n := range seconds {
		at := noon.Truncate(time.Minute).Add(-time.Duration(i) * time.Minute)
		e := ledger.Entry{Job: "j", Tick: at, Token: 1, Attempt: 1, Replica: "a", Started: at, Finished: at.Add(time.Duration(n) * time.Second), Outcome: ledger.Succeeded}
		switch n {
		case 0:
			e = ledger.Entry{Job: "j", Tick: at, Outcome: ledger.Missed, Reason: ledger.Reason{Code: ledger.CodeNoQuorum}}
		case -1:
			e.Outcome, e.Finished, e.Error = ledger.Failed, at.Add(time.Second), "no disk\nat main.go"
		case -3:
			e = ledger.Entry{Job: "j", Tick: at, Outcome: ledger.Skipped}
		case -2:
			e.Outcome, e.Finished = ledger.Running, time.Time{}
		}
		list = append(list, view.NewTick(e))
	}
	return list
}

// The sentence on a job says the worst that is known, rests on its newest ticks, and does not call a pause a failure.
func TestJobStatus(t *testing.T) {
	t.Parallel()
	v := dataAtNoon().visit
	good, old := "2027-03-01T11:55:00Z", []int{9, 9, 9, 9, 9, 4, 4, 4, 4, 4}
	stands := func(outcome ledger.Outcome, inARow int, success bool) view.Job {
		j := view.Job{Job: "j", Live: true, Standing: view.Standing{InARow: inARow, Last: ledger.Entry{Job: "j", Tick: noon.Add(-time.Minute), Outcome: outcome, Error: "no disk\nat main.go"}}}
		if success {
			j.Standing.Good.Tick = noon.Add(-5 * time.Minute)
		}
		return j
	}
	dropped := stands(ledger.Failed, 3, false)
	dropped.Standing.Since, dropped.Standing.GoodDropped = noon.Add(-time.Hour), noon.Add(-12*24*time.Hour)
	for _, c := range []struct {
		job    view.Job
		ticks  []view.Tick
		level  view.Level
		want   string
		within string
	}{
		{view.Job{}, ran(1), view.Calm, "No replica serves this job.", ""},
		{view.Job{Live: true}, nil, view.Calm, "It has not run yet.", ""},
		{view.Job{Live: true}, ran(-2, 1, 1), view.Good, "It runs on a for 30 s.", ""},
		{view.Job{Live: true}, ran(-3, -3), view.Calm, "Its latest 2 ticks were skipped, or cannot be read.", ""},
		{stands(ledger.Succeeded, 0, true), ran(-3, 1, 1), view.Good, "It succeeds: so did all of its latest 2 ticks that ended.", ""},
		{stands(ledger.Succeeded, 0, true), ran(1, -1, 0), view.Good, "It succeeds: the last tick that ended did; of the latest 3 that ended, 2 did not.", ""},
		{stands(ledger.Failed, 1, true), ran(-1, 1), view.Bad, "The last tick: failed · 1 min ago · last good 5 min ago", "no disk"},
		{stands(ledger.Failed, 3, true), ran(-2, -1, 1), view.Bad, "The last tick: failed · 1 min ago · 3 in a row · last good 5 min ago", "no disk"},
		{stands(ledger.Missed, 2, false), ran(0, 0), view.Warn, "The last tick: missed · 1 min ago · 2 in a row · no success in the ledger", ""},
		{dropped, ran(-1, -1, -1), view.Bad, "The last tick: failed · 1 min ago · at least 3 in a row · last good 12 days ago, no longer in the ledger", "no disk"},
		{view.Job{Live: true, Paused: &good}, ran(1), view.Calm, "Its ticks are skipped: " + good, ""},
		{view.Job{Live: true, Paused: &good}, ran(-2, 1), view.Good, "It runs on a for 30 s.", ""},
		{view.Job{Live: true}, ran(old...), view.Warn, "It succeeds, and takes longer: the median of the newer 5 runs 9.0 s, of the 5 before them 4.0 s. It ticks every 1 min.", ""},
		{view.Job{Live: true}, ran(-2, 4, 4, 4, 4, 4), view.Good, "It runs on a for 30 s, usually 4.0 s.", ""},
	} {
		got := v.jobStatus(c.job, c.ticks, runningIn(c.ticks), time.Minute)
		if got.Level != c.level || got.Text != c.want || c.within != "" && got.More != c.within {
			t.Errorf("%s: %q (%q), want %s: %q (%q)", got.Level, got.Text, got.More, c.level, c.want, c.within)
		}
	}
	if got := v.jobStatus(view.Job{Live: true}, ran(-3, -3), runningIn(ran(-2)), time.Minute); got.Text != "It runs on a for 30 s." || got.Path == "" {
		t.Errorf("a run before the latest ticks: %+v", got)
	}
}

// The chart has a dot per tick, the oldest on the left and the longest on top; limits only where they are near.
func TestDotChart(t *testing.T) {
	t.Parallel()
	if c := newDotChart(atNoon(), ran(0, 0), time.Minute, 0); c != nil {
		t.Errorf("without a duration there is a chart: %+v", c)
	}
	c := newDotChart(atNoon(), ran(40, 0, 20), time.Minute, time.Hour)
	if len(c.Dots) != 3 || c.Dots[0].X != "1.00%" || c.Dots[2].X != "99.00%" || c.Dots[2].Y >= c.Dots[0].Y || c.Dots[1].Ran || c.Dots[1].Y != "96.00%" {
		t.Errorf("the dots: %+v", c.Dots)
	}
	var lines []string
	for _, l := range c.Lines {
		lines = append(lines, l.Class+" "+l.Text+" "+l.Y)
	}
	if want := []string{"limit period 1 min 6.00%", "scale 0 ms 84.00%", "scale 10 s 71.00%", "scale 20 s 58.00%", "scale 30 s 45.00%", "scale 40 s 32.00%", "scale 50 s 19.00%", "scale 1 min 6.00%"}; !slices.Equal(lines, want) {
		t.Errorf("the lines: %q, want %q", lines, want)
	}
	if want := "How long the latest 3 ticks took, at most 40 s; of 2 successes p50 20 s, p95 40 s"; c.About != want {
		t.Errorf("it says %q, want %q", c.About, want)
	}
}

// The waterfall puts the wait, each attempt and the extensions of the last one on one scale; it draws no end that is not known.
func TestWaterfall(t *testing.T) {
	t.Parallel()
	at := noon.Add(-100 * time.Second)
	second := ledger.Entry{Job: "j", Tick: at, Token: 2, Attempt: 2, Replica: "b", Started: at.Add(50 * time.Second), Finished: at.Add(100 * time.Second), Outcome: ledger.Succeeded}
	second.Beats = &ledger.Beats{Count: 1, Last: []ledger.Beat{{At: at.Add(75 * time.Second), Left: time.Second}}}
	first := ledger.Entry{Job: "j", Tick: at, Token: 1, Attempt: 1, Replica: "a", Started: at.Add(10 * time.Second), Outcome: ledger.Interrupted}
	var got []string
	bars := waterfall(atNoon(), []view.Tick{view.NewTick(second), view.NewTick(first)})
	for _, b := range bars {
		got = append(got, strings.Join([]string{b.Name, b.Class, b.X, b.Width, b.About}, "|"))
	}
	want := []string{"Wait|calm|0.00%|10.00%|10 s", "Attempt 1, on a|bad|10.00%||its end is not known", "Attempt 2, on b|good|50.00%|50.00%|50 s"}
	if !slices.Equal(got, want) {
		t.Errorf("the bars: %q, want %q", got, want)
	}
	if beats := bars[2].Beats; len(beats) != 1 || beats[0].X != "75.00%" {
		t.Errorf("the beats: %+v", beats)
	}
	first.Outcome = ledger.Running
	if bars := waterfall(atNoon(), []view.Tick{view.NewTick(first)}); len(bars) != 2 || bars[1].Width != "90.00%" || bars[1].About != "1 min 30 s" {
		t.Errorf("of a run that goes on: %+v", bars)
	}
	if bars := waterfall(atNoon(), ran(0)); bars != nil {
		t.Errorf("of a tick that did not run: %+v", bars)
	}
}

// Settings that differ from their defaults come first; jobs have pages of their own.
func TestSections(t *testing.T) {
	t.Parallel()
	usual := map[string]any{"lock": map[string]any{"ttl": "15s", "max_hold": "0s"}, "namespace": "quorate"}
	set, rest := sections(map[string]any{"lock": map[string]any{"ttl": "9s", "max_hold": "0s"}, "namespace": "quorate", "jobs": map[string]any{"j": "x"}, "http": map[string]any{"users": map[string]any{"ann": "***"}}}, usual)
	if len(set) != 2 || set[0].Name != "http" || set[0].Settings[0].From != nil || set[1].Name != "lock" || *set[1].Settings[0].From != "15s" || *set[1].Settings[0].To != "9s" {
		t.Errorf("set: %+v", set)
	}
	if len(rest) != 2 || rest[0].Settings[0].Key != "lock.max_hold" || rest[1].Name != "namespace" {
		t.Errorf("rest: %+v", rest)
	}
}

// Whoever restarts a replica knows which runs have to end, and whether others take its ticks.
func TestRestart(t *testing.T) {
	t.Parallel()
	busy, idle := view.Replica{State: roster.StateReady, Running: []string{"backup"}, Alone: []string{}}, view.Replica{State: roster.StateDraining}
	alone, unsure := view.Replica{State: roster.StateReady, Alone: []string{"gpu", "mails"}}, view.Replica{State: roster.StateReady}
	for want, got := range map[string]string{
		"yes; its runs (backup) have drain_timeout to end":                            restartOf(busy, 2, noon),
		"no other takes ticks meanwhile; its runs (backup) have drain_timeout to end": restartOf(busy, 1, noon),
		"yes":                                   restartOf(idle, 1, noon),
		"no other runs gpu and mails meanwhile": restartOf(alone, 2, noon),
		"yes, if others may run its jobs: a set of jobs is not known": restartOf(unsure, 2, noon),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A run goes on for as long as was known when the page was read.
func TestStaleRunDoesNotGrow(t *testing.T) {
	t.Parallel()
	v := &visit{times: atNoon()}
	run := ran(-2)[0].Run
	if got := v.Took(run); got != "30 s" {
		t.Errorf("it took %s", got)
	}
	v.Stale = noon.Add(-20 * time.Second)
	if got, bars := v.Took(run), waterfall(v.then(), ran(-2)); got != "10 s" || len(bars) != 2 || bars[1].About != "10 s" {
		t.Errorf("20 s later it took %s: %+v", got, bars)
	}
}

// Last night ends this morning, and today begins at midnight, both in the zone of the page.
func TestStretches(t *testing.T) {
	t.Parallel()
	show := atNoon()
	show.zone = time.FixedZone("east", 13*3600) // there it is already tomorrow, 1 o'clock
	got := map[string]string{}
	for _, s := range show.stretches()[1:] {
		got[s.name] = s.from.UTC().Format("2 15 - ") + s.to.UTC().Format("2 15")
	}
	want := map[string]string{"today": "1 11 - 1 13", "night": "1 05 - 1 19", "24h": "28 12 - 1 13", "7d": "22 12 - 1 13"}
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A row leads to the run that goes on, also if a later tick has ended.
func TestRowLeadsToTheRun(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	data.serve("j", ended("fr"))
	data.trouble["j"] = ended("fr")
	row := data.jobRow("j")
	if row.LastMark.Word != "failed" || row.LastID != "j@20270301T120000.000Z" || row.Running != "j@20270301T115900.000Z" {
		t.Errorf("the row: %+v, %q, %q", row.LastMark, row.LastID, row.Running)
	}
}

// Ticks have a period only if all of the next ones are as far apart.
func TestPeriod(t *testing.T) {
	t.Parallel()
	next := func(minutes ...int) (list []view.Next) {
		for _, m := range minutes {
			list = append(list, view.Next{Tick: *view.Stamp(noon.Add(time.Duration(m) * time.Minute))})
		}
		return list
	}
	for _, c := range []struct {
		next []view.Next
		want time.Duration
	}{{next(), 0}, {next(5), 0}, {next(0, 5, 10), 5 * time.Minute}, {next(0, 60, 1440, 1500), 0}, {next(0, 1440, 2820), 0}} {
		if got := periodOf(c.next); got != c.want {
			t.Errorf("%v, want %v: %+v", got, c.want, c.next)
		}
	}
}

// An attempt before the last one says how it ended: by a drain, without a word, or by itself.
func TestStepsOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	at := noon.Add(-time.Minute)
	var attempts []view.Tick
	for _, e := range []ledger.Entry{
		{Outcome: ledger.Succeeded, Finished: noon}, {Outcome: ledger.LeaseLost, Finished: noon}, {Outcome: ledger.Interrupted, Finished: noon}, {Outcome: ledger.Interrupted},
	} {
		e.Job, e.Tick, e.Started, e.Token, e.Replica = "j", at, at, 1, "a"
		attempts = append(attempts, view.NewTick(e))
	}
	var names []string
	for _, s := range steps(attempts, "")[1:4] {
		names = append(names, s.Name)
	}
	if want := []string{"Interrupted", "Handed over", "Ended"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// A run that goes on is no trouble: its job does not stand before one that failed.
func TestRunningIsNoTrouble(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	for _, job := range []string{"busy", "calm", "failed"} {
		data.serve(job, view.Past{})
	}
	data.trouble["busy"] = view.Past{Events: []view.Event{{At: noon, Outcome: ledger.Running}}}
	data.trouble["failed"] = view.Past{Events: []view.Event{{At: noon.Add(-time.Hour), Outcome: ledger.Failed}}}
	if got, want := data.byTrouble(), []string{"failed", "busy", "calm"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
