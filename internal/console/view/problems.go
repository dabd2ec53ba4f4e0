package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// ProblemSpan is the time that Problems covers.
const ProblemSpan = 24 * time.Hour

const (
	// problemsAtOnce bounds the entries that a call of Problems.Read reads in the first call and
	// in one every readAgainAfter, and what is new. The store looks at LookedAt times as many.
	problemsAtOnce = 5000
	// problemsPerView bounds the entries that each other call reads, less the first
	// stretch of each job, which the listing of the latest entries has read. With many jobs
	// leastPerView are read nevertheless.
	problemsPerView = 1400
	leastPerView    = 200
	// mostInStretch bounds the stretch that is read of a job at once.
	mostInStretch = 100
	// mostOpen bounds the ticks that are read again since their run was open.
	mostOpen = 100
	// readAgainAfter is when reading all again begins: replicas record some misses late.
	readAgainAfter = 5 * time.Minute
	// keptOfKind is of how many problems of a kind the entries are kept.
	keptOfKind = 3
)

// A Problem is a kind of trouble with a tick.
type Problem int

// The problems. A tick may have several.
const (
	ProblemFailed      Problem = iota // it ran without success
	ProblemMissed                     // it could not run
	ProblemInterrupted                // an attempt lost its replica or its lease, and the tick ran again
	ProblemStale                      // a guard refused writes

	problemKinds
)

// countProblems returns how often an entry has each problem.
func countProblems(e ledger.Entry) (n [problemKinds]int) {
	if slices.Contains(FailedOutcomes(), e.Outcome) {
		n[ProblemFailed] = 1
	}
	if e.Outcome == ledger.Missed {
		n[ProblemMissed] = 1
	}
	n[ProblemInterrupted], n[ProblemStale] = e.Interruptions, e.StaleWrites
	return n
}

// A JobProblems counts the problems of a job in the last 24 hours.
type JobProblems struct {
	Job   string
	Count [problemKinds]int
	Last  [problemKinds]ledger.Entry // the latest with the problem
	// Since is the start of what is known, if that is less than 24 hours. Unread: there are
	// earlier entries, which a later call reads. Else the ledger has dropped them.
	Since  time.Time
	Unread bool
}

// Problems remembers the problems of all jobs in the last 24 hours. Each call reads only new
// entries, and some of the older ones that are not known yet. Its zero value is ready; it may be
// used by many goroutines.
type Problems struct {
	known atomic.Pointer[survey]
	large atomic.Int64 // when a call last read problemsAtOnce older entries, in ms
}

// A survey is what was read of all jobs. It reads each down to the start of the span, and after
// a while again.
type survey struct {
	began time.Time
	jobs  map[string]*jobSurvey // by key
}

// A jobSurvey is what was read of one job.
type jobSurvey struct {
	from    time.Time // the problems since then are known; zero: all of the span
	until   time.Time // the latest time of which they are
	next    time.Time // where the survey goes on, downwards; zero: it has read all
	size    int       // of its next stretch
	trimmed time.Time // the ledger has dropped entries up to it
	found   []trouble // newest first
}

// trouble is an entry that is not plain.
type trouble struct {
	at    time.Time
	count [problemKinds]int
	open  bool          // its run goes on, or another replica may run it again
	entry *ledger.Entry // nil: keptOfKind later ones with the same problems are known
}

// Read returns the problems of each job in the 24 hours before now. Latest are all entries
// since from, of all jobs. It reads a bounded number of others: a JobProblems says if more
// are needed.
func (p *Problems) Read(ctx context.Context, r Reader, latest []ledger.Entry, from, now time.Time) ([]JobProblems, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	most := max(leastPerView, problemsPerView-firstStretch*len(d.Keys))
	large := p.large.Load()
	if now.UnixMilli()-large > readAgainAfter.Milliseconds() && p.large.CompareAndSwap(large, now.UnixMilli()) {
		most = problemsAtOnce
	}
	s := newSurvey(p.known.Load(), d, latest, from, now)
	if err := s.read(ctx, r.Records.Ledger, from, now, most); err != nil {
		if most == problemsAtOnce {
			p.large.Store(large)
		}
		return nil, err
	}
	list := make([]JobProblems, len(d.Keys))
	for i, key := range d.Keys {
		s.jobs[key].forget(now.Add(-ProblemSpan))
		list[i] = s.jobs[key].sum(d, key, now.Add(-ProblemSpan))
	}
	p.known.Store(s)
	return list, nil
}

// newSurvey continues the last survey, which may be nil, with the latest entries.
func newSurvey(last *survey, d Directory, latest []ledger.Entry, from, now time.Time) *survey {
	if last == nil {
		last = &survey{began: now}
	}
	s := &survey{began: last.began, jobs: make(map[string]*jobSurvey, len(d.Keys))}
	of := map[string][]ledger.Entry{}
	for _, e := range latest {
		if key := d.Key(e.Job); !e.OrderKey().Before(from) && !e.Plain() {
			of[key] = append(of[key], e)
		}
	}
	unread := func(key string) bool { return last.jobs[key] != nil && !last.jobs[key].next.IsZero() }
	again := now.Sub(last.began) > readAgainAfter && !slices.ContainsFunc(d.Keys, unread)
	if again {
		s.began = now
	}
	before := from.Add(-time.Millisecond)
	for _, key := range d.Keys {
		k := jobSurvey{from: from, until: now, next: before}
		if old := last.jobs[key]; old != nil && !old.until.Before(now.Add(-ProblemSpan)) {
			if k = *old; again {
				k.next = before
			}
		}
		k.replace(of[key], from, time.Time{})
		s.jobs[key] = &k
	}
	return s
}

// read reads the new entries of each job, the ticks whose run was open, and then earlier entries.
func (s *survey) read(ctx context.Context, store ledger.Skimmer, from, now time.Time, most int) error {
	since, before := now.Add(-ProblemSpan), from.Add(-time.Millisecond)
	var fresh, open []ledger.Stretch
	for _, key := range slices.Sorted(maps.Keys(s.jobs)) {
		k := s.jobs[key]
		if down := later(k.until.Add(-settlingTime), since); down.Before(from) {
			fresh = append(fresh, ledger.Stretch{Job: key, NotAfter: before, Since: down, Limit: firstStretch})
		}
		for _, t := range k.found {
			if t.open && t.at.Before(from) {
				open = append(open, ledger.Stretch{Job: key, NotAfter: t.at, Since: t.at, Limit: firstStretch})
			}
		}
		k.until = now
	}
	// New entries come first: if they are too many, the older ones of the job are dropped, since the
	// known entries may have no gap.
	for left := problemsAtOnce; left > 0 && len(fresh) > 0; {
		cost, err := s.search(ctx, store, fresh)
		if err != nil {
			return err
		}
		left -= cost
		fresh = slices.DeleteFunc(fresh, func(f ledger.Stretch) bool { return f.NotAfter.Before(f.Since) })
		for i, f := range fresh {
			if fresh[i].Limit = min(mostInStretch, stretchFactor*f.Limit); left <= 0 {
				s.jobs[f.Job].drop(f.NotAfter.Add(time.Millisecond))
			}
		}
	}
	slices.SortStableFunc(open, func(x, y ledger.Stretch) int { return y.NotAfter.Compare(x.NotAfter) })
	if _, err := s.search(ctx, store, open[:min(len(open), mostOpen)]); err != nil {
		return err
	}
	return s.readOn(ctx, store, since, most)
}

// readOn reads about as many earlier entries as most says. All jobs get an equal share, beginning
// with those of which the shortest time is known.
func (s *survey) readOn(ctx context.Context, store ledger.Skimmer, since time.Time, most int) error {
	for left := most; 8*left > most; {
		var past []ledger.Stretch
		for _, key := range slices.Sorted(maps.Keys(s.jobs)) {
			if k := s.jobs[key]; !k.next.IsZero() {
				past = append(past, ledger.Stretch{Job: key, NotAfter: k.next, Since: since, Limit: k.size})
			}
		}
		if len(past) == 0 {
			return nil
		}
		slices.SortStableFunc(past, func(x, y ledger.Stretch) int {
			return cmp.Or(s.jobs[y.Job].from.Compare(s.jobs[x.Job].from), y.NotAfter.Compare(x.NotAfter))
		})
		size := min(mostInStretch, max(firstStretch, left/len(past)-1))
		past = past[:min(len(past), max(1, left/(size+1)))]
		for i := range past {
			past[i].Limit = max(past[i].Limit, size)
		}
		asked := slices.Clone(past)
		cost, err := s.search(ctx, store, past)
		if err != nil {
			return err
		}
		left -= cost
		for i, p := range past {
			k := s.jobs[p.Job]
			k.next, k.size = p.NotAfter, 0
			switch {
			case p.NotAfter.Before(since):
				k.next, k.from = time.Time{}, time.Time{}
			case p.NotAfter.Equal(asked[i].NotAfter): // a tick has more records than that
				k.size = min(mostInStretch, stretchFactor*p.Limit)
			case p.NotAfter.Before(k.from):
				k.from = p.NotAfter.Add(time.Millisecond)
			}
		}
	}
	return nil
}

// search reads the stretches, replaces the known entries there, and shortens each stretch to its
// unread part. The cost is about the number of entries that were read.
func (s *survey) search(ctx context.Context, store ledger.Skimmer, ask []ledger.Stretch) (cost int, err error) {
	if len(ask) == 0 {
		return 0, nil
	}
	found, err := store.Search(ctx, ask)
	if err != nil {
		return 0, err
	}
	for i, f := range found {
		cost += len(f.Entries) + 1
		down, rest := ask[i].Since, ask[i].Since.Add(-time.Millisecond)
		if f.Rest.After(rest) {
			down, rest = f.Rest.Add(time.Millisecond), f.Rest
		}
		if ask[i].Limit >= mostInStretch && rest.Equal(ask[i].NotAfter) { // no stretch can hold this tick
			rest = rest.Add(-time.Millisecond)
		}
		k := s.jobs[ask[i].Job]
		k.replace(f.Entries, down, ask[i].NotAfter)
		k.trimmed = later(k.trimmed, f.Trimmed)
		ask[i].NotAfter = rest
	}
	return cost, nil
}

// replace replaces the entries from one time to another, zero: to the last, by those that are not
// plain, newest first.
func (k *jobSurvey) replace(list []ledger.Entry, from, to time.Time) {
	var found []trouble
	for _, t := range k.found {
		if !to.IsZero() && t.at.After(to) {
			found = append(found, t)
		}
	}
	for _, e := range list {
		open := e.Outcome == ledger.Running || e.Outcome == ledger.Interrupted
		found = append(found, trouble{e.OrderKey(), countProblems(e), open, &e})
	}
	for _, t := range k.found {
		if t.at.Before(from) {
			found = append(found, t)
		}
	}
	k.found = found
}

// drop drops the entries before a time, because some after it are not known.
func (k *jobSurvey) drop(from time.Time) {
	k.from, k.next = from, from.Add(-time.Millisecond)
	k.found = slices.DeleteFunc(slices.Clone(k.found), func(t trouble) bool { return t.at.Before(from) })
}

// forget drops the problems before a time, and the entries beyond keptOfKind of each problem.
func (k *jobSurvey) forget(since time.Time) {
	k.found = slices.DeleteFunc(k.found, func(t trouble) bool { return t.at.Before(since) })
	var have [problemKinds]int
	for i, t := range k.found {
		needed := false
		for kind, n := range t.count {
			if n > 0 {
				have[kind]++
				needed = needed || have[kind] <= keptOfKind
			}
		}
		if !needed {
			k.found[i].entry = nil
		}
	}
}

// sum counts the problems of the job with a key.
func (k *jobSurvey) sum(d Directory, key string, since time.Time) JobProblems {
	p := JobProblems{Job: d.Last[key].Name}
	for _, t := range k.found {
		for kind, n := range t.count {
			if n > 0 && t.entry != nil && p.Last[kind].Tick.IsZero() {
				p.Last[kind] = d.named(*t.entry)
			}
			p.Count[kind] += n
		}
	}
	switch {
	case k.from.After(since):
		p.Since, p.Unread = k.from, true
	case k.trimmed.After(since):
		p.Since = k.trimmed.Add(time.Millisecond)
	}
	return p
}

// WithProblem returns the jobs with the problem, the latest first.
func WithProblem(all []JobProblems, kind Problem) []JobProblems {
	list := slices.DeleteFunc(slices.Clone(all), func(p JobProblems) bool { return p.Count[kind] == 0 })
	slices.SortStableFunc(list, func(x, y JobProblems) int {
		return cmp.Or(y.Last[kind].OrderKey().Compare(x.Last[kind].OrderKey()), cmp.Compare(x.Job, y.Job))
	})
	return list
}
