package scheduler

import (
	"context"
	"time"
)

// A background is what is known of a past besides the ledger's entries.
type background struct {
	why        Code    // of all its ticks; empty: it depends
	account    Account // zero where the replica was there, asleep
	absence    absence // of the job, from every configuration
	remembered time.Time
	trimmed    time.Time   // entries of ticks up to it may have been dropped
	ticks      []time.Time // at which a replica served the job, newest first
}

// A Rememberer is a Ledger that may lose its memory. It is for implementations of Ledger.
type Rememberer interface {
	Ledger
	// RemembersSince is since when the ledger has what was recorded of the job with the
	// key, by the local clock; false: it is not known.
	RemembersSince(key string) (time.Time, bool)
}

// remembered is since when the ledger remembers the job; zero: always, or nobody knows.
func remembered(ledger Ledger, key string) time.Time {
	if r, ok := ledger.(Rememberer); ok {
		since, _ := r.RemembersSince(key)
		return since
	}
	return time.Time{}
}

// trimmedUpTo is the latest tick of the job of which the ledger has dropped an entry; zero:
// none, or it cannot say.
func trimmedUpTo(ctx context.Context, ledger Ledger, key string) (time.Time, error) {
	s, ok := ledger.(Skimmer)
	if !ok {
		return time.Time{}, nil
	}
	some, err := s.Skim(ctx, []Stretch{{Job: key}}, true)
	if err != nil || len(some) == 0 {
		return time.Time{}, err
	}
	return some[0].Trimmed, nil
}

// lost tells whether the ledger may have lost what became of the tick.
func (b background) lost(at time.Time) bool { return at.Before(b.remembered) }

// code says why nobody ran a tick that has no entry.
func (b background) code(at time.Time) Code {
	switch {
	case !at.After(b.trimmed):
		return CodeHistoryTrimmed
	case b.lost(at):
		return CodeHistoryLost
	case b.why != "":
		return b.why
	case b.stopped(at):
		return CodeNoReplica
	}
	return CodeUnknown
}

// stopped tells whether all replicas had stopped when the tick came, and none had come
// back.
func (b background) stopped(at time.Time) bool {
	stop := b.account.Stopped
	if stop.IsZero() || stop.Before(b.account.Until) || at.Before(stop) {
		return false
	}
	for _, known := range b.ticks {
		if known.After(stop) && known.Before(at) {
			return false // somebody came back
		}
	}
	return true
}

// attended tells whether the entry shows that a replica served the job when the tick came.
func (e Entry) attended() bool {
	return e.Trigger != ByCatchUp && !e.Reason.Has(CodeNoReplica) && !e.Reason.Has(CodeUnknown) && !e.Reason.Has(CodeHistoryLost)
}

// standsFor is the reason of a tick that stands for all before it since first, too.
func standsFor(why Code, first time.Time) Reason {
	return Reason{Code: why}.And(Reason{Code: CodeAlike, Details: &Details{Since: first}})
}

// LastTicks returns the last n ticks of a schedule after from and before an instant that are
// wanted, oldest first, and whether there are no others. A schedule can only be walked
// forward, so it looks at longer and longer spans: what it costs does not grow with the
// time since from.
func LastTicks(s Schedule, from, before time.Time, n int, wanted func(time.Time) bool) (list []time.Time, whole bool) {
	for span := time.Minute; ; span *= 4 {
		begin := later(from, before.Add(-span))
		list, whole = nil, begin.Equal(from)
		for at := s.Next(begin); !at.IsZero() && at.Before(before); at = s.Next(at) {
			if !wanted(at) {
				continue
			}
			if list = append(list, at); len(list) > 2*n { // seldom, so that the newest stay
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
