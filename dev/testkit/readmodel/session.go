package readmodel

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Session reads as a page does, and keeps between its comparisons what a replica keeps between views.
type Session struct {
	// Pause is between two tries of a comparison.
	Pause time.Duration

	all, trouble view.Survey
	standings    view.Standings
	last         time.Time // when it read last
}

// mostTries is how often answers are compared that change, or that are wrong.
const mostTries = 6

// A Result is what a comparison has found, by job.
type Result struct {
	Lies     []Lie
	Compared []string // the jobs whose answers are true, or not
	Changing []string // those of which each two answers differed, or whose only lie was in the last try
}

// Compare asks the read model, reads the ledger and the sink, and asks again. It compares the jobs about which both
// answers are the same. It tries the others again, and those with lies: a record that has reached a minority of
// Redis nodes is in one read and not in the next. So only a lie in two tries is one.
func (s *Session) Compare(ctx context.Context, r view.Reader, quiet bool, sink func() []checker.Effect) (result Result, err error) {
	settled, lied := map[string]bool{}, map[string]bool{}
	for try := range mostTries {
		if try > 0 {
			select {
			case <-time.After(s.Pause):
			case <-ctx.Done():
				return result, context.Cause(ctx)
			}
		}
		now, last := time.Now(), s.last
		s.last = now
		before, err := s.ask(ctx, r, now, last)
		if err != nil {
			return result, err
		}
		facts, err := ReadFacts(ctx, r.Records)
		if err != nil {
			return result, err
		}
		facts.Quiet, facts.Sink = quiet, sink()
		after, err := s.ask(ctx, r, now, last)
		if err != nil {
			return result, err
		}
		result.Lies, result.Changing = nil, nil
		for _, job := range jobsOf(before, after, facts) {
			switch {
			case settled[job]:
			case !reflect.DeepEqual(before[job], after[job]):
				result.Changing = append(result.Changing, job)
			default:
				lies := Check(before[job], facts.only(job))
				settled[job] = len(lies) == 0
				if try == mostTries-1 && !settled[job] && !lied[job] {
					result.Changing = append(result.Changing, job)
					continue
				}
				lied[job] = !settled[job]
				result.Lies = append(result.Lies, lies...)
			}
		}
		if len(result.Lies)+len(result.Changing) == 0 {
			break
		}
	}
	for _, lie := range result.Lies {
		settled[lie.Job] = true
	}
	result.Compared = slices.Sorted(maps.Keys(settled))
	return result, nil
}

// jobsOf are all jobs that are published or listed.
func jobsOf(before, after map[string][]Answer, f Facts) []string {
	all := map[string]bool{}
	for job := range f.Entries {
		all[job] = true
	}
	for _, answers := range []map[string][]Answer{before, after} {
		for job := range answers {
			all[job] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// only are the facts about one job.
func (f Facts) only(job string) Facts {
	all := f.Entries
	f.Entries = map[string][]ledger.Entry{}
	if entries, published := all[job]; published {
		f.Entries[job] = entries
	}
	return f
}
