package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Verdicts on refused claims have the code of their cause.
func TestCodesOfRefusals(t *testing.T) {
	t.Parallel()
	down := locking.NodeError{Node: "a", Err: errors.New("down")}
	tests := map[error]ledger.Code{
		locking.ErrTaken: ledger.CodeOverlap, locking.ErrClaimed: ledger.CodeUndecided, locking.ErrSuperseded: ledger.CodeSuperseded,
		locking.ErrUnvouched: ledger.CodeUnvouched, locking.ErrSplit: ledger.CodeSplit, locking.ErrNoQuorum: ledger.CodeNoQuorum,
		locking.ErrTooSlow: ledger.CodeTooSlow, locking.ErrFuture: ledger.CodeClock, locking.ErrNodeAhead: ledger.CodeClock, locking.ErrRefused: ledger.CodeRefused,
		errors.New("never heard of"): ledger.CodeOther,
	}
	for reason, want := range tests {
		err := refusal(reason, down)
		err.Holder = "r1"
		v := judge(err, "r1")
		if v.kind == again {
			v = atWindowEnd(err, tick{at: noon})
		}
		if v.reason.Code != want {
			t.Errorf("%v: %q has code %s, want %s", reason, v.reason, v.reason.Code, want)
		}
		if got := noSlot(err, tick{at: noon}).reason; got.Code != ledger.CodeLimit || (got.Details == nil || got.Details.With == nil) {
			t.Errorf("%v of a slot has code %s: %s", reason, got.Code, got)
		}
	}
}

func TestCodesOfTicksThatDidNotRun(t *testing.T) {
	t.Parallel()
	run := &brief{job: &Job{Group: "g"}, waits: t.Context()}
	tests := []struct {
		got  ledger.Reason
		want ledger.Code
	}{
		{queued().reason, ledger.CodeOverlap},
		{overlapping("r1", noon, noon).reason, ledger.CodeOverlap},
		{CatchUp{}.not(ledger.VariantMax, missedFor(ledger.CodeSplit)).reason, ledger.CodeCatchUp},
		{(&Job{Paused: true}).paused(nil), ledger.CodePaused},
		{pausedBy(acts.Act{By: "ann", Job: "j", At: noon}), ledger.CodePaused},
		{noSlot(&fullError{group: "g"}, tick{}).reason, ledger.CodeLimit},
		{run.slotWaitEnded(cancelled(&stopError{}), nil).reason, ledger.CodeCancelled},
		{run.slotWaitEnded(cancelled(locking.ErrLeaseLost), nil).reason, ledger.CodeLimit},
		{run.slotWaitEnded(cancelled(jobs.ErrDraining), nil).reason, ledger.CodeDrained},
	}
	for _, tt := range tests {
		if tt.got.Code != tt.want {
			t.Errorf("%q has code %s, want %s", tt.got, tt.got.Code, tt.want)
		}
	}
}

func TestCodesOfRuns(t *testing.T) {
	t.Parallel()
	failed := errors.New("boom")
	tests := []struct {
		err, cause error
		want       ledger.Code
	}{
		{nil, nil, ""},
		{failed, nil, ""},
		{failed, jobs.ErrTimeout, ledger.CodeTimeout},
		{failed, errTryTimeout, ledger.CodeTimeout},
		{jobs.Skip("no quorum of guests"), nil, ledger.CodeFunction},
		{failed, locking.ErrLeaseLost, ledger.CodeLost},
		{failed, locking.ErrMaxHold, ledger.CodeMaxHold},
		{failed, &locking.EvictedError{Reason: "stuck"}, ledger.CodeEvicted},
		{failed, jobs.ErrDraining, ledger.CodeDrained},
		{failed, &stopError{ledger.Reason{Code: ledger.CodeReplaced}}, ledger.CodeReplaced},
		{failed, fmt.Errorf("x: %w", &stopError{ledger.Reason{Code: ledger.CodeCancelled}}), ledger.CodeCancelled},
	}
	for _, tt := range tests {
		o, got := outcome(tt.err, tt.cause)
		if got.Code != tt.want {
			t.Errorf("%s: %q has code %q, want %q", o, got, got.Code, tt.want)
		}
		both := got.And(ledger.Reason{Code: ledger.CodeStaleWrites}).And(ledger.Reason{Code: ledger.CodeNotTriggered})
		if !both.Has(ledger.CodeStaleWrites) || !both.Has(ledger.CodeNotTriggered) || tt.want != "" && both.Code != tt.want {
			t.Errorf("%q lost what it consists of: %q", got, both)
		}
	}
}

func cancelled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}
