package listing

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// ProblemSpan is the time that Problems covers.
const ProblemSpan = 24 * time.Hour

const (
	// problemsAtOnce bounds about the entries that a call of Problems.Read reads for what is
	// new, and for what is older in the first call and in one every readAgainAfter.
	problemsAtOnce = 5000
	// problemsPerView bounds the older entries that each other call reads, less the first
	// stretch of each job, which the listing of the latest entries has read. With many jobs
	// leastPerView are read nevertheless.
	problemsPerView = 1400
	leastPerView    = 200
	// mostInStretch bounds the stretch that is read of a job at once.
	mostInStretch = 500
	// readAgainAfter is when reading all again begins: replicas record some misses late.
	readAgainAfter = 5 * time.Minute
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
	// Early counts the misses before the job's first other entry for which the nodes were
	// too new to vote. They are no problems.
	Early int
	began time.Time // that first other entry
}

// IsEarly reports whether Early counts an entry of the job.
func (p JobProblems) IsEarly(e ledger.Entry) bool {
	return p.Early > 0 && tooNew(e) && (p.began.IsZero() || e.OrderKey().Before(p.began))
}

// tooNew reports whether a tick was missed because the nodes could not vote yet.
func tooNew(e ledger.Entry) bool {
	return e.Outcome == ledger.Missed && (e.Reason.Code == ledger.CodeStarting || e.Reason.Code == ledger.CodeUnvouched)
}

// Problems remembers the problems of all jobs in the last 24 hours, so each call reads only
// what is new. Its zero value is ready; it may be used by many goroutines.
type Problems struct {
	now, next atomic.Pointer[survey] // next replaces now once it is complete
	large     atomic.Int64           // when a call last read problemsAtOnce older entries, in ms
}

// A survey is what was read of all jobs.
type survey struct {
	began time.Time
	jobs  map[string]known // by key
	whole bool             // nothing is unread
}

// known is what was read of one job: all entries of the span from now down to unread.
type known struct {
	unread  time.Time // an entry may be here that was not read; zero: all were
	settled time.Time // entries before it are final
	trimmed time.Time // the ledger has dropped entries up to it
	began   time.Time // the oldest entry for which the nodes were not too new
	older   bool      // there are entries before the span
	found   []trouble // newest first
	// broken has the interrupted ticks that may run again, and when each was seen first.
	broken map[time.Time]time.Time
}

// trouble is an entry with problems.
type trouble struct {
	at    time.Time
	count [problemKinds]int
	early bool          // the nodes were too new
	entry *ledger.Entry // nil: a later one with the same problems is known
}

// Read returns the problems of each job in the 24 hours before now. Latest are all entries
// since from, of all jobs. It reads a bounded number of others: a JobProblems says if more
// are needed.
func (p *Problems) Read(ctx context.Context, r Reader, latest []ledger.Entry, from, now time.Time) ([]JobProblems, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	of := map[string][]ledger.Entry{}
	for _, e := range latest {
		if key := d.Key(e.Job); !e.OrderKey().Before(from) {
			of[key] = append(of[key], e)
		}
	}
	most := max(leastPerView, problemsPerView-firstStretch*len(d.Keys))
	large := p.large.Load()
	if now.UnixMilli()-large > readAgainAfter.Milliseconds() && p.large.CompareAndSwap(large, now.UnixMilli()) {
		most = problemsAtOnce
	}
	current := p.now.Load()
	read, err := advance(ctx, r, d, current, of, from, now, most)
	if err == nil && current != nil && current.whole && now.Sub(read.began) > readAgainAfter {
		var next *survey
		if next, err = advance(ctx, r, d, p.next.Load(), of, from, now, most); err == nil {
			if p.next.Store(next); next.whole {
				read = next
				p.next.Store(nil)
			}
		}
	}
	if err != nil {
		if most == problemsAtOnce {
			p.large.Store(large)
		}
		return nil, err
	}
	p.now.Store(read)
	list := make([]JobProblems, len(d.Keys))
	for i, key := range d.Keys {
		list[i] = read.jobs[key].sum(d, key, now.Add(-ProblemSpan))
	}
	return list, nil
}

// A catchingUp reads what is new of one job, then what is left of its span.
type catchingUp struct {
	key  string
	was  known
	now  known
	down time.Time // entries before it are in was; zero: none are
}

// advance continues a survey, which may be nil. It reads at most so many older entries.
func advance(ctx context.Context, r Reader, d Directory, last *survey, latest map[string][]ledger.Entry, from, now time.Time, most int) (*survey, error) {
	read := &survey{began: now, jobs: map[string]known{}, whole: true}
	if last == nil {
		last = &survey{}
	} else {
		read.began = last.began
	}
	since := now.Add(-ProblemSpan)
	var jobs, fresh []*catchingUp
	for _, key := range d.Keys {
		j := &catchingUp{key: key, now: known{settled: now.Add(-settlingTime), unread: from.Add(-time.Millisecond), broken: map[time.Time]time.Time{}}}
		if was, ok := last.jobs[key]; ok {
			j.was, j.down = was, earlier(was.settled, from)
		}
		j.add(latest[key], since, now)
		j.join(since)
		if jobs = append(jobs, j); !j.down.IsZero() && !j.now.unread.IsZero() {
			fresh = append(fresh, j)
		}
	}
	// What is new comes first: what was known of a job is lost if it does not join on.
	for left, size := problemsAtOnce, firstStretch; len(fresh) > 0 && left > 0; size = min(mostInStretch, stretchFactor*size) {
		n, err := skimMore(ctx, r, fresh, since, now, size)
		if err != nil {
			return nil, err
		}
		left -= n
		fresh = slices.DeleteFunc(fresh, func(j *catchingUp) bool { return j.down.IsZero() || j.now.unread.IsZero() })
	}
	// Then all other jobs get an equal share, those of which least is known first.
	for left := most; 8*left > most; {
		open := slices.DeleteFunc(slices.Clone(jobs), func(j *catchingUp) bool { return !j.down.IsZero() || j.now.unread.IsZero() })
		if len(open) == 0 {
			break
		}
		slices.SortStableFunc(open, func(x, y *catchingUp) int { return y.now.unread.Compare(x.now.unread) })
		size := min(mostInStretch, max(firstStretch, left/len(open)-1))
		open = open[:min(len(open), max(1, left/(size+1)))]
		if _, err := skimMore(ctx, r, open, since, now, size); err != nil {
			return nil, err
		}
		left -= len(open) * (size + 1)
	}
	for _, j := range jobs {
		j.now.forget(since)
		read.jobs[j.key] = j.now
		read.whole = read.whole && j.now.unread.IsZero()
	}
	return read, nil
}

// skimMore reads one more stretch of each of the jobs, and returns what that cost.
func skimMore(ctx context.Context, r Reader, jobs []*catchingUp, since, now time.Time, size int) (n int, err error) {
	ask := make([]ledger.Stretch, len(jobs))
	for i, j := range jobs {
		ask[i] = ledger.Stretch{Job: j.key, NotAfter: j.now.unread, Since: later(since, j.down), Limit: size}
	}
	skimmed, err := r.Ledger.Skim(ctx, ask, true)
	if err != nil {
		return 0, err
	}
	for i, s := range skimmed {
		n += len(s.Entries) + 1
		j := jobs[i]
		j.now.trimmed, j.now.unread = later(j.now.trimmed, s.Trimmed), s.Rest
		j.add(s.Entries, since, now)
		j.join(since)
	}
	return n, nil
}

// add takes entries in, newest first.
func (j *catchingUp) add(entries []ledger.Entry, since, now time.Time) {
	for _, e := range entries {
		at := e.OrderKey()
		if at.Before(since) || at.Before(j.down) {
			continue
		}
		if count := countProblems(e); count != [problemKinds]int{} {
			j.now.found = append(j.now.found, trouble{at, count, tooNew(e), &e})
		}
		if !tooNew(e) && (j.now.began.IsZero() || at.Before(j.now.began)) {
			j.now.began = at
		}
		if e.Outcome == ledger.Interrupted { // another replica may run it again
			seen, ok := j.was.broken[at]
			if !ok {
				seen = now
			}
			j.now.broken[at] = seen
			if now.Sub(seen) < settlingTime {
				j.now.settled = earlier(j.now.settled, at)
			}
		}
		if e.Outcome == ledger.Running {
			j.now.settled = earlier(j.now.settled, at)
		}
	}
}

// join appends what was known before, once all entries down to it have been read.
func (j *catchingUp) join(since time.Time) {
	if !j.down.IsZero() && j.now.unread.Before(j.down) {
		for _, t := range j.was.found {
			if t.at.Before(j.down) {
				j.now.found = append(j.now.found, t)
			}
		}
		j.now.trimmed, j.now.older = later(j.now.trimmed, j.was.trimmed), j.was.older
		if !j.was.began.IsZero() && j.was.began.Before(j.down) {
			j.now.began = j.was.began
		}
		if j.now.unread = j.was.unread; !j.now.unread.Before(j.down) {
			j.now.unread = j.down.Add(-time.Millisecond)
		}
		j.down = time.Time{}
	}
	if !j.now.unread.IsZero() && j.now.unread.Before(since) {
		j.now.unread, j.now.older = time.Time{}, true
	}
}

// forget drops what is older than the span, and the entries that nobody needs.
func (k *known) forget(since time.Time) {
	k.found = slices.DeleteFunc(k.found, func(t trouble) bool { return t.at.Before(since) })
	var have [problemKinds]bool
	for i, t := range k.found {
		needed := !t.at.Before(k.settled)
		for kind, n := range t.count {
			needed = needed || n > 0 && !have[kind]
			have[kind] = have[kind] || n > 0 && t.at.Before(k.settled)
		}
		if !needed {
			k.found[i].entry = nil
		}
	}
}

// sum counts the problems of the job with a key.
func (k known) sum(d Directory, key string, since time.Time) JobProblems {
	p := JobProblems{Job: d.Last[key].Name, began: k.began}
	first := k.unread.IsZero() && k.trimmed.IsZero() && !k.older // its first entry is known
	for _, t := range k.found {
		if first && t.early && (k.began.IsZero() || t.at.Before(k.began)) {
			p.Early++
			continue
		}
		for kind, n := range t.count {
			if n > 0 && p.Count[kind] == 0 && t.entry != nil {
				p.Last[kind] = d.named(*t.entry)
			}
			p.Count[kind] += n
		}
	}
	switch {
	case !k.unread.IsZero():
		p.Since, p.Unread = k.unread.Add(time.Millisecond), true
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
