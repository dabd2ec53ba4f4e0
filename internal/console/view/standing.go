package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Standing says how the latest ticks of a job ended. Skipped ticks say nothing about it, and a run that
// goes on says nothing yet.
type Standing struct {
	// Last is the newest tick that came to an end or was missed; zero: none of those that were read.
	Last ledger.Entry
	// Good is the newest success; zero: none of those that were read.
	Good ledger.Entry
	// InARow counts the ticks without success after Good.
	InARow int
	// Since is the oldest tick that was read, if there are earlier ones, or the ledger has dropped some; else zero.
	Since time.Time
}

// NeedsYou reports whether the last tick that says something did not succeed.
func (s Standing) NeedsYou() bool { return s.InARow > 0 }

// standingOf is that of a job with the entries, the newest first.
func standingOf(newest ledger.Skimmed) (s Standing) {
	if len(newest.Entries) > 0 && (!newest.Rest.IsZero() || !newest.Trimmed.IsZero()) {
		s.Since = newest.Entries[len(newest.Entries)-1].OrderKey()
	}
	for _, e := range newest.Entries {
		if e.Outcome == ledger.Skipped || e.Outcome == ledger.Running {
			continue
		}
		if s.Last.Tick.IsZero() {
			s.Last = e
		}
		if e.Outcome == ledger.Succeeded {
			s.Good = e
			break
		}
		s.InARow++
	}
	return s
}

// Bounds of what is read at once to find the last success of jobs whose newest ticks have none.
const (
	mostSearched = 20 // jobs, those whose ticks are the latest; the next read goes on with others
	deepest      = 48 // records of each
)

// standings are those of jobs, of which the newest entries are known. Of jobs without a success among
// them it reads more, once for each new tick.
func (r Reader) standings(ctx context.Context, keys []string, newest []ledger.Skimmed) ([]Standing, error) {
	list, open := make([]Standing, len(keys)), []int{}
	for i, n := range newest {
		var known bool
		if list[i], known = r.Cache.standing(keys[i], n); !known {
			list[i] = standingOf(n)
			if list[i].Good.Tick.IsZero() && !n.Rest.IsZero() {
				open = append(open, i)
			}
		}
	}
	slices.SortStableFunc(open, func(x, y int) int { return newest[y].Rest.Compare(newest[x].Rest) })
	open = open[:min(len(open), mostSearched)]
	if len(open) == 0 {
		return list, nil
	}
	var ask []ledger.Stretch
	for _, i := range open {
		ask = append(ask, ledger.Stretch{Job: keys[i], Limit: deepest})
	}
	found, err := r.Records.Ledger.Skim(ctx, ask, true)
	for n, f := range found {
		i := open[n]
		list[i] = standingOf(f)
		r.Cache.keepStanding(keys[i], newest[i], list[i])
	}
	return list, err
}

// A deepStanding is the standing of a job whose newest entries were these.
type deepStanding struct {
	newest string
	Standing
}

// newestText tells newest entries apart.
func newestText(n ledger.Skimmed) string {
	var text strings.Builder
	for _, e := range n.Entries {
		fmt.Fprint(&text, e.ID(), e.Token, e.Outcome, e.Finished.UnixMilli(), " ")
	}
	return text.String()
}

func (s *DirectoryCache) standing(key string, newest ledger.Skimmed) (Standing, bool) {
	if s == nil {
		return Standing{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.standings[key]
	return d.Standing, ok && d.newest == newestText(newest)
}

func (s *DirectoryCache) keepStanding(key string, newest ledger.Skimmed, now Standing) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standings == nil || len(s.standings) >= mostStandings {
		s.standings = map[string]deepStanding{}
	}
	s.standings[key] = deepStanding{newestText(newest), now}
}

// mostStandings bounds those that are kept.
const mostStandings = 10_000

// InNeed returns the served jobs whose last tick did not succeed: the rarest first, since nobody else will notice
// them, and of jobs that are equally rare those that failed last.
func InNeed(all []Job, now time.Time) []Job {
	var list []Job
	apart := map[string]time.Duration{} // by key: two versions of a job are one
	for _, j := range all {
		if _, known := apart[j.Key]; !known && j.Live && j.Standing.NeedsYou() {
			list = append(list, j)
			apart[j.Key] = apartOf(j, now)
		}
	}
	slices.SortStableFunc(list, func(x, y Job) int {
		return cmp.Or(cmp.Compare(apart[y.Key], apart[x.Key]), y.Standing.Last.OrderKey().Compare(x.Standing.Last.OrderKey()))
	})
	return list
}

// apartOf is the time between the next two ticks of a job; the longest if it has fewer.
func apartOf(j Job, now time.Time) time.Duration {
	if s, err := j.Info.Ticks(); err == nil {
		if next := schedule.Preview(s, now, 2); len(next) == 2 {
			return next[1].Tick.Sub(next[0].Tick)
		}
	}
	return 1<<63 - 1
}
