package roster

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Background is what is known of a past besides the ledger's entries.
type Background struct {
	Why             ledger.Code // of all its ticks; empty: it differs
	Account         Account     // zero if the replica was there, asleep
	Absence         absence     // of the job from every configuration
	RememberedSince time.Time
	trimmed         time.Time   // entries of ticks up to it may have been dropped
	Ticks           []time.Time // at which a replica served the job, newest first
}

// Passing reports whether a call of a store may succeed soon: it was not answered, or the
// store refuses, which may be corrected at any time.
func Passing(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrRefused) || errors.Is(err, context.DeadlineExceeded)
}

// Remembered is since when the ledger remembers; zero: always, or unknown.
func Remembered(store ledger.Store) time.Time {
	if r, ok := store.(ledger.Rememberer); ok {
		since, _ := r.RemembersSince()
		return since
	}
	return time.Time{}
}

// TrimmedUpTo is the latest tick whose entry the ledger has dropped; zero: none, or
// unknown.
func TrimmedUpTo(ctx context.Context, store ledger.Store, key string) (time.Time, error) {
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

// Lost reports whether the ledger may have lost the entry of the tick.
func (b Background) Lost(at time.Time) bool { return at.Before(b.RememberedSince) }

// Code says why nobody ran a tick that has no entry.
func (b Background) Code(at time.Time) ledger.Code {
	switch {
	case !at.After(b.trimmed):
		return ledger.CodeHistoryTrimmed
	case b.Lost(at):
		return ledger.CodeHistoryLost
	case b.Why != "":
		return b.Why
	case b.stopped(at):
		return ledger.CodeNoReplica
	}
	return ledger.CodeUnknown
}

// stopped reports whether all replicas had stopped when the tick came, and none had started
// again.
func (b Background) stopped(at time.Time) bool {
	stop := b.Account.Stopped
	if stop.IsZero() || stop.Before(b.Account.Until) || at.Before(stop) {
		return false
	}
	for _, known := range b.Ticks {
		if known.After(stop) && known.Before(at) {
			return false // a replica had started again
		}
	}
	return true
}

// Attended reports whether the entry shows that a replica served the job when the tick came.
func Attended(e ledger.Entry) bool {
	return e.Trigger != ledger.ByCatchUp && !e.Reason.Has(ledger.CodeNoReplica) && !e.Reason.Has(ledger.CodeUnknown) && !e.Reason.Has(ledger.CodeHistoryLost)
}

// AlsoSince is the reason of a tick whose entry represents all ticks since first, too.
func AlsoSince(why ledger.Code, first time.Time) ledger.Reason {
	return ledger.Reason{Code: why}.And(ledger.Reason{Code: ledger.CodeAlike, Details: &ledger.Details{Since: first}})
}
