package scheduler

import (
	"context"
	"errors"
	"strings"

	"github.com/quorate/quorate/locking"
)

// A verdict is what follows from a refused claim.
type verdict struct {
	kind    kind
	outcome Outcome // if kind is settled
	reason  Reason
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
func missedFor(code Code) verdict { return because(Missed, Reason{Code: code}) }

// skippedFor is the verdict on a tick that is decided not to run.
func skippedFor(code Code) verdict { return because(Skipped, Reason{Code: code}) }

// because is the verdict on a tick that will not run.
func because(o Outcome, reason Reason) verdict {
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
		return missedFor(CodeSuperseded)
	case errors.Is(err, locking.ErrUnvouched):
		return because(Missed, unwilling(CodeUnvouched, err))
	case errors.Is(err, locking.ErrRefused):
		return because(Missed, unwilling(CodeRefused, err))
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
		return missedFor(CodeUndecided)
	case errors.Is(err, locking.ErrNoQuorum), errors.Is(err, locking.ErrSilent):
		return because(Missed, unwilling(CodeNoQuorum, err))
	case errors.Is(err, locking.ErrSplit):
		return missedFor(CodeSplit)
	case errors.Is(err, locking.ErrTooSlow):
		return because(Missed, unwilling(CodeTooSlow, err))
	case errors.Is(err, locking.ErrNodeAhead):
		reason := unwilling(CodeClock, err)
		reason.Variant = VariantNodes
		return because(Missed, reason)
	case errors.Is(err, locking.ErrFuture):
		return because(Missed, unwilling(CodeClock, err))
	case errors.Is(err, context.Canceled):
		return missedFor(CodeDrained)
	default:
		return because(Missed, Reason{CodeOther, VariantClaim, &Details{Text: err.Error()}})
	}
}

// unwilling is a reason with what each unwilling node said.
func unwilling(code Code, err error) Reason {
	refused, ok := errors.AsType[*locking.AcquireError](err)
	if !ok || len(refused.Nodes) == 0 {
		return Reason{Code: code}
	}
	said := make([]string, len(refused.Nodes))
	for i, n := range refused.Nodes {
		said[i] = n.Error()
	}
	return Reason{Code: code, Details: &Details{Text: strings.Join(said, "; ")}}
}
