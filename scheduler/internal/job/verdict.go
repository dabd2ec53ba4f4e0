package job

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
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
	Again   Kind = iota // may still be won
	Lost                // another replica runs the tick and records it
	Settled             // will not run; outcome and reason say why
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

// PausedFor says why a job's ticks are skipped, zero if they are not. It takes the first of:
// its configuration, a pause of the job, of all jobs, of one of its tags.
func (j *Job) PausedFor(pauses []acts.Act) ledger.Reason {
	if j.Paused {
		return ledger.Reason{Code: ledger.CodePaused, Variant: ledger.VariantConfigured}
	}
	for _, covers := range []func(acts.Act) bool{
		func(a acts.Act) bool { return a.Job == j.StoredAs() },
		func(a acts.Act) bool { return a.All },
		func(a acts.Act) bool { return a.Tag != "" && slices.Contains(j.Tags, a.Tag) },
	} {
		if i := slices.IndexFunc(pauses, covers); i >= 0 {
			a := pauses[i]
			d := ledger.Details{By: a.By, Since: a.At, Text: a.Reason}
			if a.Job == "" {
				d.Of = a.Target()
			}
			return ledger.Reason{Code: ledger.CodePaused, Details: &d}
		}
	}
	return ledger.Reason{}
}
