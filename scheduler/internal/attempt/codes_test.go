package attempt

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Verdicts on refused claims have the code of their cause.
func TestCodesOfRefusals(t *testing.T) {
	t.Parallel()
	down := locking.NodeError{Node: "a", Err: errors.New("down")}
	tests := map[error]ledger.Code{
		locking.ErrTaken: ledger.CodeOverlap, locking.ErrClaimed: ledger.CodeUndecided, locking.ErrSuperseded: ledger.CodeSuperseded,
		locking.ErrUnvouched: ledger.CodeUnvouched, locking.ErrSplit: ledger.CodeSplit, locking.ErrNoQuorum: ledger.CodeNoQuorum,
		locking.ErrUnclaimed: ledger.CodeUndecided, locking.ErrTooSlow: ledger.CodeTooSlow, locking.ErrFuture: ledger.CodeClock, locking.ErrNodeAhead: ledger.CodeClock, locking.ErrRefused: ledger.CodeRefused,
		errors.New("never heard of"): ledger.CodeOther,
	}
	for reason, want := range tests {
		err := refusal(reason, down)
		err.Holder = "r1"
		v, _ := judge(err, "r1")
		if v.Kind == job.Again {
			v = atWindowEnd(err, job.Tick{At: noon})
		}
		if v.Reason.Code != want {
			t.Errorf("%v: %q has code %s, want %s", reason, v.Reason, v.Reason.Code, want)
		}
		if got := noSlot(err, job.Tick{At: noon}).Reason; got.Code != ledger.CodeLimit || (got.Details == nil || got.Details.With == nil) {
			t.Errorf("%v of a slot has code %s: %s", reason, got.Code, got)
		}
	}
}

func TestCodesOfTicksThatDidNotRun(t *testing.T) {
	t.Parallel()
	run := &Assignment{Job: &job.Job{Job: jobs.Job{Group: "g"}}, waitCtx: t.Context()}
	tests := []struct {
		got  ledger.Reason
		want ledger.Code
	}{
		{job.Queued().Reason, ledger.CodeOverlap},
		{job.Overlapping("r1", noon, noon).Reason, ledger.CodeOverlap},
		{(&job.Job{}).NotCaughtUp(ledger.VariantMax, job.MissedFor(ledger.CodeSplit)).Reason, ledger.CodeCatchUp},
		{(&job.Job{Job: jobs.Job{Paused: true}}).PausedFor(commands.Open{}, noon), ledger.CodePaused},
		{(&job.Job{Job: jobs.Job{Name: "j"}}).PausedFor(commands.Open{Pauses: []commands.Command{{By: "ann", Job: "j", At: noon}}}, noon), ledger.CodePaused},
		{noSlot(&fullError{group: "g"}, job.Tick{}).Reason, ledger.CodeLimit},
		{run.slotWaitEnded(cancelled(&StopError{}), nil).Reason, ledger.CodeCancelled},
		{run.slotWaitEnded(cancelled(locking.ErrLeaseLost), nil).Reason, ledger.CodeLimit},
		{run.slotWaitEnded(cancelled(jobs.ErrDraining), nil).Reason, ledger.CodeDrained},
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
		{failed, errCallTimeout, ledger.CodeTimeout},
		{jobs.Skip("no quorum of guests"), nil, ledger.CodeFunction},
		{failed, locking.ErrLeaseLost, ledger.CodeLost},
		{failed, locking.ErrMaxHold, ledger.CodeMaxHold},
		{failed, &locking.EvictedError{Reason: "stuck"}, ledger.CodeEvicted},
		{failed, jobs.ErrDraining, ledger.CodeDrained},
		{failed, &StopError{Reason: ledger.Reason{Code: ledger.CodeReplaced}}, ledger.CodeReplaced},
		{failed, fmt.Errorf("x: %w", &StopError{Reason: ledger.Reason{Code: ledger.CodeCancelled}}), ledger.CodeCancelled},
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
