package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// What refused claims lead to has the class of its cause.
func TestClassesOfRefusals(t *testing.T) {
	t.Parallel()
	down := locking.NodeError{Node: "a", Err: errors.New("down")}
	tests := map[error]Class{
		locking.ErrTaken: ClassOverlap, locking.ErrClaimed: ClassUndecided, locking.ErrSuperseded: ClassSuperseded,
		locking.ErrUnvouched: ClassUnvouched, locking.ErrSplit: ClassSplit, locking.ErrNoQuorum: ClassNoQuorum,
		locking.ErrTooSlow: ClassTooSlow, locking.ErrFuture: ClassClock, locking.ErrNodeAhead: ClassClock, locking.ErrRefused: ClassRefused,
		errors.New("never heard of"): ClassOther,
	}
	for reason, want := range tests {
		err := refusal(reason, down)
		err.Holder = "r1"
		v := judge(err, "r1")
		if v.kind == again {
			v = atWindowEnd(err, tick{at: noon})
		}
		if got := (Entry{Outcome: v.outcome, Reason: v.reason}).Class(); got != want {
			t.Errorf("%v: %q is of class %s, want %s", reason, v.reason, got, want)
		}
		if got := (Entry{Outcome: Missed, Reason: noSlot(err, tick{at: noon}).reason}).Class(); got != ClassLimit {
			t.Errorf("%v of a slot is of class %s", reason, got)
		}
	}
}

func TestClassesOfTicksThatDidNotRun(t *testing.T) {
	t.Parallel()
	run := &attempt{surroundings: &surroundings{cfg: &Config{MaxRunning: 1}}, job: &Job{Group: "g"}}
	daily := CatchUp{Mode: CatchUpLast}
	tests := map[string]Class{
		whyDrained: ClassDrained, whyBehind: ClassBehind, whyTooLate: ClassTooLate, whyOverslept: ClassAsleep,
		whyNobody: ClassNoReplica, whyRemoved: ClassRemoved, whyRescheduled: ClassRescheduled, whyExpired: ClassExpired,
		whyQueued: ClassOverlap, whyLaterFirst: ClassCatchUp, daily.tooMany(): ClassCatchUp, daily.tooLate(): ClassCatchUp,
		overlapping("r1", noon, noon).reason:                      ClassOverlap,
		(&Job{Paused: true}).paused(nil):                          ClassPaused,
		Act{By: "ann", Job: "j", At: noon}.paused():               ClassPaused,
		noSlot(&fullError{group: "g"}, tick{}).reason:             ClassLimit,
		run.slotless(cancelled(jobs.ErrCancelled), nil).reason:    ClassCancelled,
		run.slotless(cancelled(locking.ErrLeaseLost), nil).reason: ClassLimit,
		run.slotless(cancelled(jobs.ErrDraining), nil).reason:     ClassDrained,
		"as a later release may say":                              ClassOther,
	}
	for reason, want := range tests {
		if got := (Entry{Outcome: Missed, Reason: reason}).Class(); got != want {
			t.Errorf("%q is of class %s, want %s", reason, got, want)
		}
	}
}

func TestClassesOfRuns(t *testing.T) {
	t.Parallel()
	failed := errors.New("boom")
	tests := []struct {
		err, cause error
		want       Class
	}{
		{nil, nil, ""},
		{failed, nil, ""},
		{failed, jobs.ErrTimeout, ""},
		{failed, errTryTimeout, ""},
		{jobs.Skip("no quorum of guests"), nil, ClassFunction},
		{failed, locking.ErrLeaseLost, ClassLost},
		{failed, locking.ErrMaxHold, ClassMaxHold},
		{failed, &locking.EvictedError{Reason: "stuck"}, ClassEvicted},
		{failed, jobs.ErrDraining, ClassDrained},
		{failed, fmt.Errorf("%w%s%s", jobs.ErrCancelled, replacement, stamp(noon)), ClassReplaced},
		{failed, fmt.Errorf("%w by ann%s", jobs.ErrCancelled, because("wrong day")), ClassCancelled},
	}
	for _, tt := range tests {
		e := Entry{Tries: 1}
		e.Outcome, e.Reason = outcome(tt.err, tt.cause)
		e.Reason = joinReasons(e.Reason, "1 stale write refused")
		if got := e.Class(); got != tt.want {
			t.Errorf("%s: %q is of class %q, want %q", e.Outcome, e.Reason, got, tt.want)
		}
	}
}

func TestClassesAreListedOnce(t *testing.T) {
	t.Parallel()
	list := Classes()
	slices.Sort(list)
	if n := len(slices.Compact(slices.Clone(list))); n != len(list) {
		t.Errorf("%d classes, %d of them different", len(list), n)
	}
}

func cancelled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}
