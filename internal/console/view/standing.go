package view

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Standing says how the latest ticks of a job ended. Those that were skipped, that run or that cannot be
// read say nothing about it.
type Standing struct {
	// Last is the newest tick that ended or was missed; zero: none of those that were read.
	Last ledger.Entry
	// Good is the newest success; zero: none of those that were read.
	Good ledger.Entry
	// GoodDropped is when the newest success was due or requested, if the ledger has dropped its record; zero:
	// it has not, or that is unknown.
	GoodDropped time.Time
	// FailureDropped is when the newest of the failures was due or requested whose record the ledger has dropped.
	FailureDropped time.Time
	// InARow counts the ticks without success after Good; without Good those that were read.
	InARow int
	// Since is the oldest tick that was read, if there are earlier ones, or the ledger has dropped some; else zero.
	Since time.Time
	// open: a run goes on, or another replica may run one of these ticks again.
	open bool
}

// standingOf is that of a job with the entries, the newest first.
func standingOf(newest ledger.Skimmed) (s Standing) {
	s.FailureDropped = newest.TrimmedFailure
	if len(newest.Entries) > 0 && (!newest.Rest.IsZero() || !newest.Trimmed.IsZero()) {
		s.Since = newest.Entries[len(newest.Entries)-1].OrderKey()
	}
	for _, e := range newest.Entries {
		s.open = s.open || e.Outcome == ledger.Running || e.Outcome == ledger.Interrupted || e.Outcome == ledger.LeaseLost
		if e.Outcome == ledger.Skipped || e.Outcome == ledger.Running || e.Outcome == ledger.Unreadable {
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
	if s.Good.Tick.IsZero() && newest.Rest.IsZero() { // else one that was not read may be newer
		s.GoodDropped = newest.TrimmedSuccess
	}
	return s
}

// LastSuccess is the newest success: its tick, or if its record was dropped, when it was due or requested.
func (s Standing) LastSuccess() time.Time {
	if s.Good.Tick.IsZero() {
		return s.GoodDropped
	}
	return s.Good.Tick
}

// Bounds of what is read at once to find the last success of jobs whose newest ticks have none.
const (
	mostSearched = 20 // jobs, those whose ticks are the latest; the next read goes on with others
	deepest      = 48 // records of each
)

// standings are those of jobs, of which the newest entries are known. Of jobs without a success among
// them it reads more.
func (r Reader) standings(ctx context.Context, keys []string, newest []ledger.Skimmed) ([]Standing, error) {
	list, open, now := make([]Standing, len(keys)), []int{}, time.Now()
	for i, n := range newest {
		list[i] = standingOf(n)
		if !list[i].Good.Tick.IsZero() || n.Rest.IsZero() {
			r.Standings.keep(keys[i], n, list[i], now)
		} else if known, ok := r.Standings.at(keys[i], newestOf(n), now); ok {
			list[i] = known
		} else {
			open = append(open, i)
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
		r.Standings.keep(keys[i], f, list[i], now)
	}
	return list, err
}

// newestOf is the order key of the newest entry; zero: there is none.
func newestOf(n ledger.Skimmed) time.Time {
	if len(n.Entries) > 0 {
		return n.Entries[0].OrderKey()
	}
	return n.Rest
}

// Standings remembers how jobs stand until their next tick, and for readAgainAfter at most, since replicas record
// some misses late. Its zero value is ready; nil remembers nothing. It may be used by many goroutines.
type Standings struct {
	mu    sync.Mutex
	known map[string]knownStanding // by key
}

type knownStanding struct {
	newest, read time.Time
	Standing
}

// mostStandings bounds those that are kept; then they are read anew.
const mostStandings = 10_000

// at returns the standing of a job whose newest entry has the order key.
func (s *Standings) at(key string, newest, now time.Time) (Standing, bool) {
	if s == nil {
		return Standing{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[key]
	return k.Standing, ok && k.newest.Equal(newest) && now.Sub(k.read) < readAgainAfter
}

// keep remembers a standing, unless it may change without a new tick.
func (s *Standings) keep(key string, entries ledger.Skimmed, now Standing, read time.Time) {
	if s == nil || now.open {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= mostStandings {
		s.known = map[string]knownStanding{}
	}
	s.known[key] = knownStanding{newestOf(entries), read, now}
}

// A JobInNeed is a job whose last tick did not succeed.
type JobInNeed struct {
	Job string
	Standing
	every time.Duration // between its next two ticks; the longest if it has fewer
}

// Newest returns the order keys of the newest entries of the jobs with the keys, by key; zero: it has none.
func (r Reader) Newest(ctx context.Context, keys []string) (map[string]time.Time, error) {
	begins := make([]ledger.Stretch, len(keys))
	for i, key := range keys {
		begins[i].Job = key
	}
	found, err := r.Records.Ledger.Skim(ctx, begins, true)
	if err != nil {
		return nil, err
	}
	newest := make(map[string]time.Time, len(keys))
	for i, key := range keys {
		newest[key] = newestOf(found[i])
	}
	return newest, nil
}

// InNeed returns the served jobs whose last tick did not succeed: the rarest first, since nobody else will
// notice them, and of jobs that are equally rare those that failed last. Newest is what Newest returned for
// all jobs: only of those with a new entry anything is read.
func (r Reader) InNeed(ctx context.Context, newest map[string]time.Time, now time.Time) ([]JobInNeed, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	var ask []ledger.Stretch
	var list []JobInNeed
	add := func(key string, s Standing) {
		if s.InARow > 0 {
			list = append(list, JobInNeed{d.Last[key].Name, s, everyOf(d.Last[key].Ticks, now)})
		}
	}
	for _, key := range d.Keys {
		if !d.Last[key].Live || newest[key].IsZero() {
			continue
		}
		if s, known := r.Standings.at(key, newest[key], now); known {
			add(key, s)
		} else {
			keys, ask = append(keys, key), append(ask, ledger.Stretch{Job: key, Limit: lastRecords})
		}
	}
	if len(ask) > 0 {
		ends, err := r.Records.Ledger.Skim(ctx, ask, true)
		if err != nil {
			return nil, err
		}
		read, err := r.standings(ctx, keys, ends)
		if err != nil {
			return nil, err
		}
		for i, s := range read {
			add(keys[i], s)
		}
	}
	slices.SortStableFunc(list, func(x, y JobInNeed) int {
		return cmp.Or(cmp.Compare(y.every, x.every), y.Last.OrderKey().Compare(x.Last.OrderKey()))
	})
	return list, nil
}

func everyOf(ticks func() (schedule.Schedule, error), now time.Time) time.Duration {
	if s, err := ticks(); err == nil { // else this release cannot read its schedule
		if next := schedule.Preview(s, now, 2); len(next) == 2 {
			return next[1].Tick.Sub(next[0].Tick)
		}
	}
	return 1<<63 - 1
}
