package scheduler

import (
	"context"
	"errors"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A verdict is what follows from a refused claim.
type verdict struct {
	kind    kind
	outcome ledger.Outcome // if kind is settled
	reason  ledger.Reason
	err     error // if kind is lost
}

type kind uint8

const (
	again     kind = iota // may still be won
	lost                  // another replica runs the tick, and accounts for it
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

// judge says what a refusal means to replica while the tick's window is open.
// Only what a quorum agrees on, or one node knows for ever, is final. A claim of
// the replica itself is one that it has given up, and could not tell the nodes.
func judge(err error, replica string) verdict {
	switch {
	case errors.Is(err, locking.ErrClaimed) && claimant(err) == replica:
		return verdict{kind: again}
	case errors.Is(err, locking.ErrDone), errors.Is(err, locking.ErrClaimed):
		return verdict{kind: lost, err: err}
	case errors.Is(err, locking.ErrSuperseded):
		return missedFor(ledger.CodeSuperseded)
	case errors.Is(err, locking.ErrUnvouched):
		return because(ledger.Missed, unwilling(ledger.CodeUnvouched, err))
	case errors.Is(err, locking.ErrRefused):
		return because(ledger.Missed, unwilling(ledger.CodeRefused, err))
	default:
		return verdict{kind: again}
	}
}

// claimant is who has the tick, as far as err says.
func claimant(err error) string {
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		return refused.Holder
	}
	return ""
}

// atWindowEnd says what becomes of a tick whose window closes when err was the
// last refusal. Whatever it says yields to the record of a run.
func atWindowEnd(err error, t tick) verdict {
	switch {
	case errors.Is(err, locking.ErrTaken):
		return overlapSkip(err, t)
	case errors.Is(err, locking.ErrClaimed):
		return missedFor(ledger.CodeUndecided)
	case errors.Is(err, locking.ErrNoQuorum), errors.Is(err, locking.ErrSilent):
		return because(ledger.Missed, unwilling(ledger.CodeNoQuorum, err))
	case errors.Is(err, locking.ErrSplit):
		return missedFor(ledger.CodeSplit)
	case errors.Is(err, locking.ErrTooSlow):
		return because(ledger.Missed, unwilling(ledger.CodeTooSlow, err))
	case errors.Is(err, locking.ErrNodeAhead):
		reason := unwilling(ledger.CodeClock, err)
		reason.Variant = ledger.VariantNodes
		return because(ledger.Missed, reason)
	case errors.Is(err, locking.ErrFuture):
		return because(ledger.Missed, unwilling(ledger.CodeClock, err))
	case errors.Is(err, context.Canceled):
		return missedFor(ledger.CodeDrained)
	default:
		return because(ledger.Missed, ledger.Reason{Code: ledger.CodeOther, Variant: ledger.VariantClaim, Details: &ledger.Details{Text: err.Error()}})
	}
}

// unwilling is a reason with what each unwilling node said.
func unwilling(code ledger.Code, err error) ledger.Reason {
	refused, ok := errors.AsType[*locking.AcquireError](err)
	if !ok || len(refused.Nodes) == 0 {
		return ledger.Reason{Code: code}
	}
	said := make([]string, len(refused.Nodes))
	for i, n := range refused.Nodes {
		said[i] = n.Error()
	}
	return ledger.Reason{Code: code, Details: &ledger.Details{Text: strings.Join(said, "; ")}}
}
