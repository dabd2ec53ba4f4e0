package scheduler

import (
	"context"
	"time"
)

// How far back, and how many ticks at most, a replica looks for what nobody ran.
const (
	longestPast = 24 * time.Hour
	mostPast    = 1000
	firstPage   = 4   // entries read from the ledger at once: as a rule the last tick ran
	pastPage    = 100 // the next times
)

// A past is a span of a job's ticks before its first live one.
type past struct {
	job    *Job
	from   time.Time // zero: what follows the last tick that the ledger knows to have run
	before time.Time
	why    string // its ticks did not run

	published // counts in what lies before a start
}

// published is what replicas have published: the versions of each job, by key.
type published struct {
	versions map[string][]JobInfo
	unread   error // they could not be read
}

// undecided are the ticks of a past of which the ledger does not say that they
// ran, or why they shall not. The ledger is a hint: the claim decides.
type undecided struct {
	rerun         tick      // the last one that ran, if it was interrupted; zero: none
	ticks         []tick    // oldest first
	ran           time.Time // nobody can claim those before; zero: all may be claimed
	first, before time.Time // from here to there more were left out; zero: none
}

// known is what the ledger says of a past.
type known struct {
	ran     time.Time          // the last tick that ran; zero: none
	oldest  time.Time          // the oldest one it says anything of; zero: none
	decided map[time.Time]bool // not to be tried again
	partly  bool               // more is known of the past than was read
}

// look reads the ledger and lists what is undecided.
func (p past) look(ctx context.Context, ledger Ledger, now time.Time, window time.Duration) (undecided, error) {
	horizon := now.Add(-max(longestPast, p.job.CatchUp.withDefaults().Window))
	k, err := p.read(ctx, ledger, horizon)
	if err != nil || k.oldest.IsZero() && p.from.IsZero() {
		return undecided{}, err // a job of which nothing is known has no past
	}
	if p.from.IsZero() {
		if lacks(p.unread, p.job.key()) {
			return undecided{}, p.unread
		}
		was := *p.job
		was.Schedule = p.schedule(p.versions[p.job.key()])
		p.job = &was
	}
	return p.list(k, horizon, window), nil
}

// read collects entries, newest first, back to the last run, or as far as the
// replica slept: others may have run ticks that are none in its version of the
// job, and have no word of those that are.
func (p past) read(ctx context.Context, ledger Ledger, horizon time.Time) (known, error) {
	k := known{decided: map[time.Time]bool{}}
	before := p.before
	for n, size := 0, firstPage; n < mostPast; n, size = n+size, pastPage {
		page, err := ledger.Ticks(ctx, Query{Job: p.job.key(), Limit: size, Before: before})
		if err != nil {
			return known{}, err
		}
		for _, e := range page {
			if k.take(e, p.job.CatchUp.does()); p.knows(k) {
				return k, nil
			}
		}
		if len(page) < size || page[len(page)-1].OrderKey().Before(horizon) {
			return k, nil
		}
		before = page[len(page)-1].OrderKey()
	}
	k.partly = true
	return k, nil
}

// knows tells whether what is older than k does not matter: nothing before a
// tick that ran can be claimed.
func (p past) knows(k known) bool {
	if p.from.IsZero() {
		return !k.ran.IsZero()
	}
	return k.oldest.Before(p.from) && !k.oldest.IsZero()
}

// take adds what an entry says. Where nothing is caught up any entry shows that
// somebody was there, as a run does.
func (k *known) take(e Entry, retried bool) {
	if e.Stream != "" {
		return
	}
	k.oldest = e.Tick
	k.decided[e.Tick] = e.Outcome != Missed || byPolicy(e.Reason) || !k.ran.IsZero()
	if k.ran.IsZero() && (e.Outcome.Ran() || !retried) {
		k.ran = e.Tick
	}
}

// list walks the schedule through the past.
func (p past) list(k known, horizon time.Time, window time.Duration) undecided {
	u := undecided{ran: k.ran}
	for t := p.job.scheduled(p.begin(k, horizon), window); !t.isZero() && t.at.Before(p.before); t = p.job.scheduled(t.next, window) {
		if k.decided[t.at] {
			continue
		}
		t.trigger, t.why = ByCatchUp, p.why
		if u.ticks = append(u.ticks, t); len(u.ticks) > 2*mostPast {
			u.leaveOut()
		}
	}
	if len(u.ticks) > mostPast {
		u.leaveOut()
	}
	return u
}

// begin is the first tick to look at.
func (p past) begin(k known, horizon time.Time) time.Time {
	from := k.oldest.Add(-1) // itself included
	if !p.from.IsZero() {
		from = p.from.Add(-1)
	}
	if k.ran.After(from) && (p.from.IsZero() || k.partly) {
		from = k.ran
	}
	if from.Before(horizon) {
		from = horizon
	}
	return p.job.Schedule.Next(from)
}

// leaveOut drops all but the newest ticks.
func (u *undecided) leaveOut() {
	drop := len(u.ticks) - mostPast
	if u.first.IsZero() {
		u.first = u.ticks[0].at
	}
	u.before = u.ticks[drop].at
	u.ticks = append([]tick(nil), u.ticks[drop:]...)
}
