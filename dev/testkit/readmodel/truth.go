package readmodel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Facts are what the answers are compared with.
type Facts struct {
	// Entries are those of each published job, by its key: one for each claim of a tick, and one for each tick
	// that did not run, in any order.
	Entries map[string][]ledger.Entry
	// Trimmed has the latest tick that the ledger has dropped of each job. Of ticks before that, it may have some.
	Trimmed map[string]time.Time
	// Paused are the keys of the jobs whose ticks are skipped.
	Paused map[string]bool
	// Sink is what the jobs have written so far. Every run that succeeds has written. Nil: they write nothing.
	Sink []checker.Effect
	// Quiet: nothing changes any more, so the read model can know everything.
	Quiet bool
}

// A tick is what all entries of one tick say.
type tick struct {
	at     time.Time // its order key
	stream string
	ledger.Entry
	// plain: it came to its end without any trouble.
	plain bool
}

// ticksOf folds the entries of a job to ticks, the newest first.
func ticksOf(entries []ledger.Entry) []tick {
	type place struct {
		stream string
		ms     int64
	}
	attempts := map[place][]ledger.Entry{}
	for _, e := range entries {
		p := place{e.Stream, e.OrderKey().UnixMilli()}
		attempts[p] = append(attempts[p], e)
	}
	var list []tick
	for p, all := range attempts {
		all = withoutLost(all)
		// The claim with the largest token is the last run. A record of a tick that did not run has no token, so
		// it counts only if there is no claim.
		last := slices.MaxFunc(all, func(x, y ledger.Entry) int { return cmp.Compare(x.Token, y.Token) })
		t := tick{at: last.OrderKey(), stream: p.stream, Entry: last}
		t.plain = slices.Contains([]ledger.Outcome{ledger.Succeeded, ledger.Skipped, ledger.Cancelled}, last.Outcome)
		for _, e := range all {
			handedOver := e.Outcome == ledger.Interrupted && !e.Finished.IsZero()
			lost := (e.Outcome == ledger.LeaseLost || e.Outcome == ledger.Interrupted) && !handedOver
			if e.StaleWrites > 0 || lost && e.Token != last.Token {
				t.plain = false
			}
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(x, y tick) int { return cmp.Or(y.at.Compare(x.at), cmp.Compare(x.stream, y.stream)) })
	return list
}

// withoutLost leaves out claims that only a minority of Redis nodes knows if the tick has another run. They may
// not have started, so listings of ticks take them for attempts that lost, and not for interruptions.
func withoutLost(attempts []ledger.Entry) []ledger.Entry {
	var certain []ledger.Entry
	for _, e := range attempts {
		if e.Reason.Variant != ledger.VariantDoubtful {
			certain = append(certain, e)
		}
	}
	if slices.ContainsFunc(certain, func(e ledger.Entry) bool { return e.Token != 0 }) {
		return certain
	}
	return attempts
}

// since keeps the ticks since a time.
func since(ticks []tick, from time.Time) (some []tick) {
	for _, t := range ticks {
		if !t.at.Before(from) {
			some = append(some, t)
		}
	}
	return some
}

// streakOf is how the ticks ended, the newest first. Those that were skipped, that run or that cannot be read
// say nothing about it.
func streakOf(ticks []tick) (s Streak) {
	for _, t := range ticks {
		switch t.Outcome {
		case ledger.Skipped, ledger.Running, ledger.Unreadable:
			continue
		default:
		}
		if s.Last.At.IsZero() {
			s.Last = sayingOf(t)
		}
		if t.Outcome == ledger.Succeeded {
			s.Good = t.Tick
			return s
		}
		s.InARow++
	}
	return s
}

func sayingOf(t tick) Tick { return Tick{At: t.Tick, Outcome: t.Outcome, Replica: t.Replica} }

// spanOf counts ticks.
func spanOf(ticks []tick) (s Span) {
	s.Outcomes = map[ledger.Outcome]int{}
	var took []time.Duration
	for _, t := range ticks {
		s.Outcomes[t.Outcome]++
		switch t.Outcome {
		case ledger.Missed:
		case ledger.Skipped, ledger.Unreadable:
			if t.Token != 0 { // its function has decided so
				s.Runs++
			}
		default:
			s.Runs++
		}
		if slices.Contains([]ledger.Outcome{ledger.Failed, ledger.TimedOut, ledger.LeaseLost, ledger.Interrupted}, t.Outcome) {
			s.Failures++
		}
		if d := t.Finished.Sub(t.Started); t.Outcome == ledger.Succeeded && !t.Started.IsZero() && !t.Finished.IsZero() {
			took = append(took, max(0, d)) // clocks may step
		}
	}
	s.Timed, s.P50, s.P95 = len(took), percentile(took, 50), percentile(took, 95)
	return s
}

// percentile is the shortest of the durations that so many percent of them do not exceed; 0 of none.
func percentile(list []time.Duration, percent int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	best := time.Duration(math.MaxInt64)
	for _, d := range list {
		within := 0
		for _, other := range list {
			if other <= d {
				within++
			}
		}
		if within*100 >= percent*len(list) {
			best = min(best, d)
		}
	}
	return best
}
