package job

import (
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A Verdict is the consequence of a refused claim.
type Verdict struct {
	Kind    Kind
	Outcome ledger.Outcome // if kind is settled
	Reason  ledger.Reason
	Err     error // if kind is lost
}

// A Kind says what follows from a Verdict.
type Kind uint8

// The kinds of verdicts.
const (
	Again     Kind = iota // may still be won
	Lost                  // another replica runs the tick and records it
	Settled               // will not run; outcome and reason say why
	Postponed             // an earlier tick goes first
)

// MissedFor is the verdict on a tick that could not be run.
func MissedFor(code ledger.Code) Verdict { return Because(ledger.Missed, ledger.Reason{Code: code}) }

// SkippedFor is the verdict on a tick that is decided not to run.
func SkippedFor(code ledger.Code) Verdict { return Because(ledger.Skipped, ledger.Reason{Code: code}) }

// Because is the verdict on a tick that will not run.
func Because(o ledger.Outcome, reason ledger.Reason) Verdict {
	return Verdict{Kind: Settled, Outcome: o, Reason: reason}
}

// Queued is the verdict on a waiting tick when the next one begins to wait.
func Queued() Verdict {
	return Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantQueue})
}

// HeldElsewhere is the verdict on a tick that an earlier one blocked on another replica, as
// the nodes know it. Without a time, no node had the lock any more.
func HeldElsewhere(holder string, at, until time.Time) Verdict {
	if !at.IsZero() && until.IsZero() {
		return Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantUnended, Details: &ledger.Details{Holder: OrAnotherReplica(holder), Tick: at}})
	}
	return Overlapping(holder, at, until)
}

// Overlapping is the verdict on a tick that an earlier one blocked. It is the same for a
// live and a dead holder.
func Overlapping(holder string, at, until time.Time) Verdict {
	return Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Details: &ledger.Details{Holder: OrAnotherReplica(holder), Tick: at, Until: until}})
}

// OrAnotherReplica returns the holder, or words for one that is not known.
func OrAnotherReplica(holder string) string {
	if holder == "" {
		return "another replica"
	}
	return holder
}
