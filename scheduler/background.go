package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A background is what is known of a past besides the ledger's entries.
type background struct {
	why        ledger.Code // of all its ticks; empty: it differs
	account    Account     // zero if the replica was there, asleep
	absence    absence     // of the job from every configuration
	remembered time.Time
	trimmed    time.Time   // entries of ticks up to it may have been dropped
	ticks      []time.Time // at which a replica served the job, newest first
}

// remembered is since when the ledger remembers the job; zero: always, or unknown.
func remembered(store ledger.Store, key string) time.Time {
	if r, ok := store.(ledger.Rememberer); ok {
		since, _ := r.RemembersSince(key)
		return since
	}
	return time.Time{}
}

// trimmedUpTo is the latest tick whose entry the ledger has dropped; zero: none, or
// unknown.
func trimmedUpTo(ctx context.Context, store ledger.Store, key string) (time.Time, error) {
	s, ok := store.(ledger.Skimmer)
	if !ok {
		return time.Time{}, nil
	}
	some, err := s.Skim(ctx, []ledger.Stretch{{Job: key}}, true)
	if err != nil || len(some) == 0 {
		return time.Time{}, err
	}
	return some[0].Trimmed, nil
}

// lost reports whether the ledger may have lost the entry of the tick.
func (b background) lost(at time.Time) bool { return at.Before(b.remembered) }

// code says why nobody ran a tick that has no entry.
func (b background) code(at time.Time) ledger.Code {
	switch {
	case !at.After(b.trimmed):
		return ledger.CodeHistoryTrimmed
	case b.lost(at):
		return ledger.CodeHistoryLost
	case b.why != "":
		return b.why
	case b.stopped(at):
		return ledger.CodeNoReplica
	}
	return ledger.CodeUnknown
}

// stopped reports whether all replicas had stopped when the tick came, and none had started
// again.
func (b background) stopped(at time.Time) bool {
	stop := b.account.Stopped
	if stop.IsZero() || stop.Before(b.account.Until) || at.Before(stop) {
		return false
	}
	for _, known := range b.ticks {
		if known.After(stop) && known.Before(at) {
			return false // a replica had started again
		}
	}
	return true
}

// attended reports whether the entry shows that a replica served the job when the tick came.
func attended(e ledger.Entry) bool {
	return e.Trigger != ledger.ByCatchUp && !e.Reason.Has(ledger.CodeNoReplica) && !e.Reason.Has(ledger.CodeUnknown) && !e.Reason.Has(ledger.CodeHistoryLost)
}

// alikeSince is the reason of a tick whose entry represents all ticks since first, too.
func alikeSince(why ledger.Code, first time.Time) ledger.Reason {
	return ledger.Reason{Code: why}.And(ledger.Reason{Code: ledger.CodeAlike, Details: &ledger.Details{Since: first}})
}

// LastTicks returns the last n wanted ticks of a schedule between from and before, oldest
// first, and whether there are no others. A schedule can only be walked forward, so it
// searches longer and longer spans: the cost does not grow with the time since from.
func LastTicks(s schedule.Schedule, from, before time.Time, n int, wanted func(time.Time) bool) (list []time.Time, whole bool) {
	for span := time.Minute; ; span *= 4 {
		begin := later(from, before.Add(-span))
		list, whole = nil, begin.Equal(from)
		for at := s.Next(begin); !at.IsZero() && at.Before(before); at = s.Next(at) {
			if !wanted(at) {
				continue
			}
			if list = append(list, at); len(list) > 2*n { // rarely, so the newest stay
				list, whole = append(list[:0], list[len(list)-n:]...), false
			}
		}
		if whole || len(list) >= n {
			over := max(0, len(list)-n)
			return list[over:], whole && over == 0
		}
		if begin.Equal(from) {
			return list, false
		}
	}
}
