package scheduler

import (
	"context"
	"errors"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A verdict is the consequence of a refused claim.
type verdict struct {
	kind    kind
	outcome ledger.Outcome // if kind is settled
	reason  ledger.Reason
	err     error // if kind is lost
}

type kind uint8

const (
	again     kind = iota // may still be won
	lost                  // another replica runs the tick and records it
	settled               // will not run; outcome and reason say why
	postponed             // an earlier tick goes first
)

// missedFor is the verdict on a tick that could not be run.
func missedFor(code ledger.Code) verdict { return because(ledger.Missed, ledger.Reason{Code: code}) }

// skippedFor is the verdict on a tick that is decided not to run.
func skippedFor(code ledger.Code) verdict { return because(ledger.Skipped, ledger.Reason{Code: code}) }

// because is the verdict on a tick that will not run.
func because(o ledger.Outcome, reason ledger.Reason) verdict {
	return verdict{kind: settled, outcome: o, reason: reason}
}

// judge returns what a refusal means to replica while the tick's window is open. It is
// final only if a quorum agrees, or if one node knows it for certain. A claim of the
// replica itself is one that it has given up without reaching the nodes.
func judge(err error, replica string) verdict {
	switch {
	case errors.Is(err, locking.ErrClaimed) && claimant(err) == replica:
		return verdict{kind: again}
	case errors.Is(err, locking.ErrDone), errors.Is(err, locking.ErrClaimed):
		return verdict{kind: lost, err: err}
	case errors.Is(err, locking.ErrSuperseded):
		return missedFor(ledger.CodeSuperseded)
	case errors.Is(err, locking.ErrUnvouched):
		return because(ledger.Missed, withAnswers(ledger.CodeUnvouched, err))
	case errors.Is(err, locking.ErrRefused):
		return because(ledger.Missed, withAnswers(ledger.CodeRefused, err))
	default:
		return verdict{kind: again}
	}
}

// claimant is the replica that has the tick, as far as err says.
func claimant(err error) string {
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		return refused.Holder
	}
	return ""
}

// atWindowEnd is the verdict on a tick whose window closes; err was the last refusal. The
// record of a run replaces it.
func atWindowEnd(err error, t tick) verdict {
	switch {
	case errors.Is(err, locking.ErrTaken):
		return overlapSkip(err, t)
	case errors.Is(err, locking.ErrClaimed):
		return missedFor(ledger.CodeUndecided)
	case errors.Is(err, locking.ErrNoQuorum), errors.Is(err, locking.ErrSilent):
		return because(ledger.Missed, withAnswers(ledger.CodeNoQuorum, err))
	case errors.Is(err, locking.ErrSplit):
		return missedFor(ledger.CodeSplit)
	case errors.Is(err, locking.ErrTooSlow):
		return because(ledger.Missed, withAnswers(ledger.CodeTooSlow, err))
	case errors.Is(err, locking.ErrNodeAhead):
		reason := withAnswers(ledger.CodeClock, err)
		reason.Variant = ledger.VariantNodes
		return because(ledger.Missed, reason)
	case errors.Is(err, locking.ErrFuture):
		return because(ledger.Missed, withAnswers(ledger.CodeClock, err))
	case errors.Is(err, context.Canceled):
		return missedFor(ledger.CodeDrained)
	default:
		return because(ledger.Missed, ledger.Reason{Code: ledger.CodeOther, Variant: ledger.VariantClaim, Details: &ledger.Details{Text: err.Error()}})
	}
}

// withAnswers is a reason with the answer of each unwilling node.
func withAnswers(code ledger.Code, err error) ledger.Reason {
	refused, ok := errors.AsType[*locking.AcquireError](err)
	if !ok || len(refused.Nodes) == 0 {
		return ledger.Reason{Code: code}
	}
	answers := make([]string, len(refused.Nodes))
	for i, n := range refused.Nodes {
		answers[i] = n.Error()
	}
	return ledger.Reason{Code: code, Details: &ledger.Details{Text: strings.Join(answers, "; ")}}
}
