package view

import (
	"math"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// Figures count what a Past knows of the ticks since a time.
type Figures struct {
	// Since is the start of the span that was counted: the time that was asked for, or a later one if earlier
	// ticks were not read or are not kept.
	Since          time.Time
	Runs, Failures int
	// Timed is the number of successes whose duration is known. P50 and P95 are of these durations; zero without any.
	Timed    int
	P50, P95 time.Duration
}

// Figures counts the ticks since a time.
func (p Past) Figures(from time.Time) Figures {
	f := Figures{Since: later(from, p.Since)}
	events := p.EventsSince(f.Since) // the ledger may keep single ticks from before, too
	for _, e := range events {
		if e.Ran {
			f.Runs++
		}
		if e.Failed() {
			f.Failures++
		}
	}
	if took := Durations(events); len(took) > 0 {
		f.Timed, f.P50, f.P95 = len(took), Quantile(took, 0.5), Quantile(took, 0.95)
	}
	return f
}

// EventsSince are those of ticks since a time, the newest first.
func (p Past) EventsSince(from time.Time) []Event {
	end := len(p.Events)
	for end > 0 && p.Events[end-1].At.Before(from) {
		end--
	}
	return p.Events[:end]
}

// Durations are those of successes, the newest first.
func Durations(events []Event) (took []time.Duration) {
	for _, e := range events {
		if e.Outcome == ledger.Succeeded && e.Took >= 0 {
			took = append(took, e.Took)
		}
	}
	return took
}

// Quantile is the shortest duration that so large a part of the list does not exceed. The list must not be empty.
func Quantile(list []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)]
}
