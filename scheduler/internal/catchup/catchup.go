// Package catchup finds the ticks of a job's past that nobody ran. It reads the ledger in
// goroutines of its own, and knows nothing of the engine's state.
package catchup

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Limits of reading a past.
const (
	// maxPast is how many ticks are listed, and one more for the rest. Stores drop the oldest once a
	// job has more than nine tenths of MaxKeep, and the sleep's first ticks should not be among them.
	maxPast   = jobs.MaxKeep * 8 / 10
	firstPage = 4   // entries read first: usually the last tick ran
	pastPage  = 100 // entries read afterwards
)

// A Span is the ticks of a job's past between two instants, before its first live one.
type Span struct {
	Job    *job.Job
	From   time.Time // zero: from where ticks may lack an entry
	Before time.Time
	Begun  time.Time   // this replica served the job from then on
	Why    ledger.Code // why its ticks did not run; empty: what is known of the job says it

	published published // for the ticks before a start
}

// published has the published versions of each job, by key.
type published struct {
	versions map[string][]roster.JobInfo
	unread   error // why they could not be read
}

// Undecided are the ticks of a past that have no final entry in the ledger. The ledger is a
// hint: the claim decides.
type Undecided struct {
	Rerun         job.Tick   // the last tick that ran, if it was interrupted; zero: none
	Gone          []job.Tick // nobody can claim them any more
	Ticks         []job.Tick // oldest first
	First, Before time.Time  // more ticks between them were left out; zero: none
}

// A Finding is the result of a scan.
type Finding struct {
	Undecided
	Err error
}

// known is what the ledger has of a past.
type known struct {
	ran     time.Time          // the last tick that ran; zero: none
	oldest  time.Time          // the oldest tick with an entry; zero: none
	ticks   []time.Time        // at which a replica served the job, newest first
	decided map[time.Time]bool // not to be tried again
	partly  bool               // the ledger has more than was read
	trimmed time.Time          // entries of ticks up to it may have been dropped
}

// findUndecided reads the ledger and lists the undecided ticks.
func (p Span) findUndecided(ctx context.Context, ledger ledger.Store, window time.Duration) (Undecided, error) {
	starts := p.From.IsZero()
	if starts && p.published.unread != nil {
		return Undecided{}, p.published.unread
	}
	versions := p.published.versions[p.Job.StoredAs()]
	account := served.AccountOf(versions)
	if starts {
		p.From = served.Begin(account)
	}
	k, err := p.read(ctx, ledger)
	if err == nil {
		k.trimmed, err = served.TrimmedUpTo(ctx, ledger, p.Job.StoredAs())
	}
	if err != nil || k.oldest.IsZero() && p.From.IsZero() {
		return Undecided{}, err // a job without entries has no past
	}
	b := served.Background{Why: p.Why, Ticks: k.ticks, RememberedSince: served.Remembered(ledger)}
	if starts {
		was := *p.Job
		was.Schedule = p.schedule(versions)
		p.Job = &was
		b.Account, b.Absence = account, served.Removal(account, versions, p.Begun)
	}
	return p.list(k, b, window), nil
}

// read collects entries, newest first, back to the begin of the past. Other replicas may
// have run ticks that this replica's version of the job does not have, and the ledger may
// lack those that it has. If the begin is unknown, it reads back to the last run.
func (p Span) read(ctx context.Context, store ledger.Store) (known, error) {
	k := known{decided: map[time.Time]bool{}}
	before := p.Before
	for n, size := 0, firstPage; n < maxPast; n, size = n+size, pastPage {
		page, err := store.Ticks(ctx, ledger.Query{Job: p.Job.StoredAs(), Limit: size, Before: before})
		if err != nil {
			return known{}, err
		}
		for _, e := range page {
			if k.take(e, p.Job.CatchesUp()); p.knows(k) {
				return k, nil
			}
		}
		if len(page) < size {
			return k, nil
		}
		before = page[len(page)-1].OrderKey()
	}
	k.partly = true
	return k, nil
}

// knows reports whether older entries do not matter: no tick before one that ran can be
// claimed.
func (p Span) knows(k known) bool {
	if p.From.IsZero() {
		return !k.ran.IsZero()
	}
	return k.oldest.Before(p.From) && !k.oldest.IsZero()
}

// take adds an entry. If nothing is caught up, any entry proves that a replica was there,
// as a run does.
func (k *known) take(e ledger.Entry, retried bool) {
	if e.Stream != "" {
		return
	}
	k.oldest = e.Tick
	if served.Attended(e) {
		k.ticks = append(k.ticks, e.Tick)
	}
	k.decided[e.Tick] = e.Outcome != ledger.Missed || e.Reason.Code == ledger.CodeCatchUp || !retried || !k.ran.IsZero()
	if k.ran.IsZero() && (e.Ran() || !retried) {
		k.ran = e.Tick
	}
}

// list walks the schedule through the past.
func (p Span) list(k known, b served.Background, window time.Duration) Undecided {
	lacks := func(at time.Time) bool { return !k.decided[at] && !b.Absence.Has(at) }
	from := p.begin(k, b.Account)
	all, whole := schedule.LastTicks(p.Job.Schedule, from, p.Before, maxPast+1, lacks)
	var u Undecided
	if !whole {
		u.First, u.Before = p.Job.Schedule.Next(from), all[1]
	}
	for i, at := range all {
		t := p.Job.Scheduled(at, window)
		t.Trigger, t.Why = ledger.ByCatchUp, &ledger.Reason{Code: b.Code(at)}
		switch rest := i == 0 && !whole; {
		case rest:
			*t.Why = served.AlsoSince(t.Why.Code, u.First)
			fallthrough
		case b.Lost(at), at.Before(k.ran):
			u.Gone = append(u.Gone, t)
		default:
			u.Ticks = append(u.Ticks, t)
		}
	}
	return u
}

// begin is the time after which ticks lack an entry.
func (p Span) begin(k known, a roster.Account) time.Time {
	from := p.From.Add(-1) // including the tick at p.From
	switch {
	case p.From.IsZero():
		from = served.Later(k.ran, k.oldest.Add(-1))
	case k.partly:
		from = served.Later(from, k.oldest)
	case !a.First.IsZero() && !a.Until.After(a.First) && !k.oldest.IsZero() && k.oldest.Before(p.From):
		// The ledger is older than the published versions, and not yet accounted for.
		from = served.Later(k.oldest, a.Until.Add(-1))
	}
	return served.Later(from, k.trimmed) // older ticks may have run
}

// findRerun finds the last tick that ran, if its run was interrupted, or may be soon.
func (p Span) findRerun(ctx context.Context, store ledger.Store, now time.Time, window time.Duration) (job.Tick, error) {
	if p.Job.OnCrash != jobs.CrashRerun {
		return job.Tick{}, nil
	}
	before := p.Before
	for n, size := 0, firstPage; n < maxPast; n, size = n+size, pastPage {
		page, err := store.Ticks(ctx, ledger.Query{Job: p.Job.StoredAs(), Limit: size, Before: before})
		if err != nil {
			return job.Tick{}, err
		}
		for _, e := range page {
			if e.Stream == "" && e.Ran() {
				return p.again(e, now, window), nil
			}
		}
		if len(page) < size {
			break
		}
		before = page[len(page)-1].OrderKey()
	}
	return job.Tick{}, nil
}

// again is the tick of a run that has not ended, unless it was interrupted too long ago. A
// run that continues is watched, however long it takes.
func (p Span) again(last ledger.Entry, now time.Time, window time.Duration) job.Tick {
	t, from := p.Job.Scheduled(last.Tick, window), last.Tick
	if last.Outcome == ledger.Running {
		from = served.Later(from, now)
	}
	t.Latest = from.Add(p.Job.CatchUp.Window)
	if last.Outcome != ledger.Running && last.Outcome != ledger.Interrupted || !t.Latest.After(now) {
		return job.Tick{}
	}
	t.Trigger, t.Why = ledger.ByRerun, &ledger.Reason{Code: ledger.CodeInterrupted}
	return t
}

// schedule is the schedule of the ticks before a replica serves the job: at each instant that of the
// version which was the last to begin.
func (p Span) schedule(versions []roster.JobInfo) schedule.Schedule {
	since := served.Since(roster.JobInfo{Hash: p.Job.Hash, Since: p.Begun}, versions)
	var earlier periods
	for _, v := range versions {
		if v.Hash == p.Job.Hash || !v.Since.Before(since) {
			continue
		}
		ticks, err := v.Ticks()
		if err != nil {
			return p.Job.Schedule // an old schedule is unknown
		}
		earlier = append(earlier, period{v.Since, ticks})
	}
	if since.IsZero() || len(earlier) == 0 {
		return p.Job.Schedule
	}
	slices.SortFunc(earlier, func(a, b period) int { return a.from.Compare(b.from) })
	return append(earlier, period{since, p.Job.Schedule})
}

// periods are schedules that follow one another, each until the next one begins.
type periods []period

type period struct {
	from  time.Time
	ticks schedule.Schedule
}

// Next implements Schedule. Before the first period nothing is known, and there is no tick.
func (list periods) Next(t time.Time) time.Time {
	for i, period := range list {
		last := i == len(list)-1
		if !last && !t.Before(list[i+1].from) {
			continue
		}
		if t.Before(period.from) {
			t = period.from.Add(-1)
		}
		if next := period.ticks.Next(t); last || !next.IsZero() && next.Before(list[i+1].from) {
			return next
		}
	}
	return time.Time{}
}
