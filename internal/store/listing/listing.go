// Package listing is what both kinds of store do alike with what they keep: they page through the
// ledger of a job, show runs without a regular end, and keep versions of jobs.
package listing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Collect reads entries page by page, newest ticks first, up to the limit of the query. Each page
// begins with about limit records; read returns the entries to list and the Rest of the page. A
// filter may omit many, and one tick may fill a page: then read raises the limit of the next one.
func Collect(ctx context.Context, q ledger.Query, limit int, read func(context.Context, *ledger.Stretch) ([]ledger.Entry, time.Time, error)) ([]ledger.Entry, error) {
	found := []ledger.Entry{}
	s := ledger.Stretch{Job: q.Job, NotAfter: lastBefore(q.Before), Since: q.Since, Limit: limit}
	for len(found) < q.Limit {
		page, rest, err := read(ctx, &s)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if q.Wants(e) {
				found = append(found, e)
			}
		}
		if rest.IsZero() || rest.Before(q.Since) {
			break
		}
		s.NotAfter = rest
	}
	return found[:min(len(found), q.Limit)], nil
}

// lastBefore is the latest millisecond before the time; zero without one.
func lastBefore(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.Add(-1).UnixMilli())
}

// Late adds to a run that it ended when others may have worked, unless the run knew.
func Late(e ledger.Entry) ledger.Entry {
	if e.Outcome != ledger.LeaseLost && e.Outcome != ledger.Unreadable {
		e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeLateEnd})
	}
	return e
}

// Interrupted is a run that never ended. What could not be read of it is a further reason.
func Interrupted(e ledger.Entry, why ledger.Reason) ledger.Entry {
	if e.Outcome == ledger.Unreadable {
		why = why.And(e.Reason)
	}
	e.Outcome, e.Reason = ledger.Interrupted, why
	return e
}

const (
	// KeepJobs is how long a version of a job stays published after the last replica that served
	// it. Housekeeping forgets jobs earlier.
	KeepJobs = 400 * 24 * time.Hour
	// KeepSets is how long a set of jobs is kept after the last renewal by a replica that serves
	// it.
	KeepSets = 24 * time.Hour
)

// SortVersions sorts versions by name, the last published first.
func SortVersions(list []roster.JobInfo) {
	slices.SortFunc(list, func(a, b roster.JobInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.Published.Compare(a.Published), strings.Compare(a.Hash, b.Hash))
	})
}

// An Account is the stored form of a roster.Account: its First, Until, Stopped and Removed in
// milliseconds, 0 for none.
type Account [4]int64

// NewAccount returns the stored form of a.
func NewAccount(a roster.Account) (stored Account) {
	for i, t := range []time.Time{a.First, a.Until, a.Stopped, a.Removed} {
		if !t.IsZero() {
			stored[i] = max(0, t.UnixMilli())
		}
	}
	return stored
}

// Times is the inverse of NewAccount.
func (a Account) Times() roster.Account {
	var t [4]time.Time
	for i, ms := range a {
		if ms > 0 {
			t[i] = time.UnixMilli(ms).UTC()
		}
	}
	return roster.Account{First: t[0], Until: t[1], Stopped: t[2], Removed: t[3]}
}
