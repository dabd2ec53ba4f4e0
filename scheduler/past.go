package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// Limits of reading a past.
const (
	maxPast   = 900 // and one more for the rest: as many notes are kept
	firstPage = 4   // entries read first: usually the last tick ran
	pastPage  = 100 // entries read afterwards
)

// A past is a span of a job's ticks before its first live one.
type past struct {
	job    *Job
	from   time.Time // zero: from where ticks may lack an entry
	before time.Time
	begun  time.Time   // this replica served the job from then on
	why    ledger.Code // why its ticks did not run; empty: what is known of the job says it

	published // used for the ticks before a start
}

// published has the published versions of each job, by key.
type published struct {
	versions map[string][]JobInfo
	unread   error // why they could not be read
}

// undecided are the ticks of a past that have no final entry in the ledger. The ledger is a
// hint: the claim decides.
type undecided struct {
	rerun         tick      // the last tick that ran, if it was interrupted; zero: none
	gone          []tick    // nobody can claim them any more
	ticks         []tick    // oldest first
	first, before time.Time // more ticks between them were left out; zero: none
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
func (p past) findUndecided(ctx context.Context, ledger ledger.Store, window time.Duration) (undecided, error) {
	starts := p.from.IsZero()
	if starts && lacks(p.unread, p.job.key()) {
		return undecided{}, p.unread
	}
	versions := p.versions[p.job.key()]
	account := accountOf(versions)
	if starts {
		p.from = account.begin()
	}
	k, err := p.read(ctx, ledger)
	if err == nil {
		k.trimmed, err = trimmedUpTo(ctx, ledger, p.job.key())
	}
	if err != nil || k.oldest.IsZero() && p.from.IsZero() {
		return undecided{}, err // a job without entries has no past
	}
	b := background{why: p.why, ticks: k.ticks, remembered: remembered(ledger, p.job.key())}
	if starts {
		was := *p.job
		was.Schedule = p.schedule(versions)
		p.job = &was
		b.account, b.absence = account, account.removal(versions, p.begun)
	}
	return p.list(k, b, window), nil
}

// read collects entries, newest first, back to the begin of the past. Other replicas may
// have run ticks that this replica's version of the job does not have, and the ledger may
// lack those that it has. If the begin is unknown, it reads back to the last run.
func (p past) read(ctx context.Context, store ledger.Store) (known, error) {
	k := known{decided: map[time.Time]bool{}}
	before := p.before
	for n, size := 0, firstPage; n < maxPast; n, size = n+size, pastPage {
		page, err := store.Ticks(ctx, ledger.Query{Job: p.job.key(), Limit: size, Before: before})
		if err != nil {
			return known{}, err
		}
		for _, e := range page {
			if k.take(e, p.job.CatchUp.does()); p.knows(k) {
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
func (p past) knows(k known) bool {
	if p.from.IsZero() {
		return !k.ran.IsZero()
	}
	return k.oldest.Before(p.from) && !k.oldest.IsZero()
}

// take adds an entry. If nothing is caught up, any entry proves that a replica was there,
// as a run does.
func (k *known) take(e ledger.Entry, retried bool) {
	if e.Stream != "" {
		return
	}
	k.oldest = e.Tick
	if attended(e) {
		k.ticks = append(k.ticks, e.Tick)
	}
	k.decided[e.Tick] = e.Outcome != ledger.Missed || e.Reason.Code == ledger.CodeCatchUp || !retried || !k.ran.IsZero()
	if k.ran.IsZero() && (e.Outcome.Ran() || !retried) {
		k.ran = e.Tick
	}
}

// list walks the schedule through the past.
func (p past) list(k known, b background, window time.Duration) undecided {
	lacks := func(at time.Time) bool { return !k.decided[at] && !b.absence.has(at) }
	from := p.begin(k, b.account)
	all, whole := LastTicks(p.job.Schedule, from, p.before, maxPast+1, lacks)
	var u undecided
	if !whole {
		u.first, u.before = p.job.Schedule.Next(from), all[1]
	}
	for i, at := range all {
		t := p.job.scheduled(at, window)
		t.trigger, t.why = ledger.ByCatchUp, &ledger.Reason{Code: b.code(at)}
		switch rest := i == 0 && !whole; {
		case rest:
			*t.why = alikeSince(t.why.Code, u.first)
			fallthrough
		case b.lost(at), at.Before(k.ran):
			u.gone = append(u.gone, t)
		default:
			u.ticks = append(u.ticks, t)
		}
	}
	return u
}

// begin is the time after which ticks lack an entry.
func (p past) begin(k known, a Account) time.Time {
	from := p.from.Add(-1) // including the tick at p.from
	switch {
	case p.from.IsZero():
		from = later(k.ran, k.oldest.Add(-1))
	case k.partly:
		from = later(from, k.oldest)
	case !a.First.IsZero() && !a.Until.After(a.First) && !k.oldest.IsZero() && k.oldest.Before(p.from):
		// The ledger is older than the published versions, and not yet accounted for.
		from = later(k.oldest, a.Until.Add(-1))
	}
	return later(from, k.trimmed) // older ticks may have run
}
