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
	reason  string
	err     error // if kind is lost

	refused    bool // settled, since the nodes refuse this replica
	superseded bool // settled, since a later tick of the stream was claimed
}

type kind uint8

const (
	again     kind = iota // may still be won
	lost                  // another replica runs the tick, and accounts for it
	settled               // will not run; outcome and reason say why
	postponed             // an earlier tick goes first
)

// Reasons of ticks that this replica could not try to claim.
const (
	whyDrained = "this replica drained before it could claim the tick"
	whyBehind  = "an earlier tick of the job was still being decided on this replica"
	whyTooLate = "the claim was won too late to begin the work, and given back"
)

func missedFor(reason string) verdict {
	return verdict{kind: settled, outcome: Missed, reason: reason}
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
		v := missedFor("superseded: a later tick was claimed before this replica could claim this one")
		v.superseded = true
		return v
	case errors.Is(err, locking.ErrUnvouched):
		return missedFor("unvouched: too few nodes can tell whether the tick has run" + unwilling(err))
	case errors.Is(err, locking.ErrRefused):
		v := missedFor("refused: the nodes refuse this replica" + unwilling(err))
		v.refused = true
		return v
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
		return missedFor("undecided: this replica gave up a claim of the tick, and could not tell enough nodes")
	case errors.Is(err, locking.ErrNoQuorum), errors.Is(err, locking.ErrSilent):
		return missedFor("no quorum" + unwilling(err))
	case errors.Is(err, locking.ErrSplit):
		return missedFor("split vote: competing replicas divided the nodes until the window closed")
	case errors.Is(err, locking.ErrTooSlow):
		return missedFor("too slow: the nodes took longer to answer than a lease lasts" + unwilling(err))
	case errors.Is(err, locking.ErrNodeAhead):
		return missedFor("clock: too few nodes are left without those whose clock is ahead of the others'" + unwilling(err))
	case errors.Is(err, locking.ErrFuture):
		return missedFor("clock: this replica's clock is too far ahead of the nodes'; check its time" + unwilling(err))
	case errors.Is(err, context.Canceled):
		return missedFor(whyDrained)
	default:
		return missedFor("claim failed: " + err.Error())
	}
}

// unwilling lists what each unwilling node said, after a colon.
func unwilling(err error) string {
	refused, ok := errors.AsType[*locking.AcquireError](err)
	if !ok || len(refused.Nodes) == 0 {
		return ""
	}
	said := make([]string, len(refused.Nodes))
	for i, n := range refused.Nodes {
		said[i] = n.Error()
	}
	return ": " + strings.Join(said, "; ")
}
