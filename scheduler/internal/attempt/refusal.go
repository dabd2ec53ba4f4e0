package attempt

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// judge reports whether a refusal is final for replica while the tick's window is open, and
// the verdict then. It is final only if a quorum agrees on what became of the tick, or if one
// node knows it for certain: rights, space and settings of a store may be corrected
// meanwhile. A claim of the replica itself is one that it has given up without reaching the
// nodes.
func judge(err error, replica string) (v job.Verdict, final bool) {
	switch {
	case errors.Is(err, locking.ErrClaimed) && claimant(err) == replica:
		return job.Verdict{}, false
	case errors.Is(err, locking.ErrDone), errors.Is(err, locking.ErrClaimed):
		return job.Verdict{Kind: job.Lost, Err: err}, true
	case errors.Is(err, locking.ErrSuperseded):
		return job.MissedFor(ledger.CodeSuperseded), true
	case errors.Is(err, locking.ErrUnvouched):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeUnvouched, err)), true
	default:
		return job.Verdict{}, false
	}
}

// unanswered reports whether a try, or a look, was not answered in time.
func unanswered(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrTooSlow) || errors.Is(err, locking.ErrSilent)
}

// undecided reports whether a try, or a look, has found nobody else: the store has not
// answered, or refuses.
func undecided(err error) bool { return unanswered(err) || errors.Is(err, locking.ErrRefused) }

// claimant is the replica that has the tick, as far as err says.
func claimant(err error) string {
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		return refused.Holder
	}
	return ""
}

// atWindowEnd is the verdict on a tick whose window closes; err was the last refusal. The
// record of a run replaces it.
func atWindowEnd(err error, t job.Tick) job.Verdict {
	switch {
	case errors.Is(err, locking.ErrUnclaimed): // it matches ErrTaken
		return job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeUndecided, Variant: ledger.VariantUnclaimed, Details: &ledger.Details{Holder: job.OrAnotherReplica("")}})
	case errors.Is(err, locking.ErrTaken):
		return overlapSkip(err, t)
	case errors.Is(err, locking.ErrClaimed):
		return job.MissedFor(ledger.CodeUndecided)
	case errors.Is(err, locking.ErrNoQuorum), errors.Is(err, locking.ErrSilent):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeNoQuorum, err))
	case errors.Is(err, locking.ErrRefused):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeRefused, err))
	case errors.Is(err, locking.ErrSplit):
		return job.MissedFor(ledger.CodeSplit)
	case errors.Is(err, locking.ErrTooSlow):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeTooSlow, err))
	case errors.Is(err, locking.ErrNodeAhead), errors.Is(err, locking.ErrFuture):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeClock, err))
	case errors.Is(err, context.Canceled):
		return job.MissedFor(ledger.CodeDrained)
	default:
		return job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeOther, Variant: ledger.VariantClaim, Details: &ledger.Details{Text: err.Error()}})
	}
}

// withAnswers is a reason with the answer of each unwilling node, or of the store.
func withAnswers(code ledger.Code, err error) ledger.Reason {
	reason := ledger.Reason{Code: code}
	refused, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return reason
	}
	nodes, ahead := refused.Votes.Of > 0, errors.Is(err, locking.ErrNodeAhead)
	switch {
	case nodes && ahead:
		reason.Variant = ledger.VariantNodes
	case !nodes && (ahead || code == ledger.CodeNoQuorum):
		reason.Variant = ledger.VariantStore
	}
	var answers []string
	for _, n := range refused.Nodes {
		if nodes {
			answers = append(answers, n.Error())
		} else {
			answers = append(answers, n.Err.Error())
		}
	}
	if len(answers) > 0 {
		reason.Details = &ledger.Details{Text: strings.Join(answers, "; ")}
	}
	return reason
}

// overlapSkip is the verdict on a tick whose window closes while another claim holds the
// job's lock.
func overlapSkip(err error, t job.Tick) job.Verdict {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return job.Overlapping("another run", time.Time{}, time.Time{})
	}
	if taken.HolderTick.Equal(t.At) {
		return job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeUndecided, Variant: ledger.VariantHolder, Details: &ledger.Details{Holder: job.OrAnotherReplica(taken.Holder)}})
	}
	return job.HeldElsewhere(taken.Holder, taken.HolderTick, taken.Until)
}
