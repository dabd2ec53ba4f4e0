package view_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Figures are of the ticks since the start of what is known, and the percentiles of all durations that are known: also
// of runs that took less than a millisecond.
func TestFigures(t *testing.T) {
	t.Parallel()
	event := func(second int, o ledger.Outcome, took time.Duration) view.Event {
		return view.Event{At: start.Add(time.Duration(second) * time.Second), Outcome: o, Ran: o != ledger.Missed, Took: took}
	}
	p := view.Past{Since: start.Add(2 * time.Second), Events: []view.Event{ // the newest first
		event(9, ledger.Running, -1), event(8, ledger.Succeeded, 3*time.Second), event(7, ledger.Missed, -1), event(6, ledger.Failed, time.Hour),
		event(5, ledger.Succeeded, 0), event(4, ledger.Succeeded, -1), event(3, ledger.Succeeded, 0),
		event(1, ledger.Succeeded, time.Hour), // the ledger has dropped others beside it
	}}
	want := view.Figures{Since: p.Since, Runs: 6, Failures: 1, Timed: 3, P50: 0, P95: 3 * time.Second}
	if got := p.Figures(start); got != want {
		t.Errorf("since the start: %+v, want %+v", got, want)
	}
	since := start.Add(7 * time.Second)
	want = view.Figures{Since: since, Runs: 2, Timed: 1, P50: 3 * time.Second, P95: 3 * time.Second}
	if got := p.Figures(since); got != want {
		t.Errorf("of a shorter span: %+v, want %+v", got, want)
	}
	if got := (view.Past{}).Figures(start); got != (view.Figures{Since: start}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// A quantile is a duration of the list.
func TestQuantile(t *testing.T) {
	t.Parallel()
	var list []time.Duration
	for n := range 100 {
		list = append(list, time.Duration(100-n))
	}
	for part, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.95: 95, 1: 100} {
		if got := view.Quantile(list, part); got != want {
			t.Errorf("%v of them are within %d, want %d", part, got, want)
		}
	}
}
