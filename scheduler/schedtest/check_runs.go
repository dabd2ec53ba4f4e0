package schedtest

import (
	"errors"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

func runningWhileTheLeaseLasts(b *ledgerBench) {
	l := b.claim(1, b.Long, locking.AtMostOnce)
	b.wantBoth(of(l, b.started(1)))
}

func finishReplacesTheStart(b *ledgerBench) {
	want := []ledger.Entry{}
	for n, o := range []ledger.Outcome{
		ledger.Succeeded, ledger.Failed, ledger.TimedOut, ledger.LeaseLost, ledger.Cancelled, ledger.Skipped,
	} {
		l := b.claim(n, b.Long, locking.AtMostOnce)
		b.end(l, b.finished(n, o))
		want = append([]ledger.Entry{of(l, b.finished(n, o))}, want...)
	}
	b.wantBoth(want...)
}

func interruptedOnceTheLeaseHasRunOut(b *ledgerBench) {
	first := b.claim(1, b.Short, locking.AtMostOnce)
	interrupted := b.awaitInterrupted()
	if interrupted.Reason.IsZero() {
		b.Error("an interrupted run has no reason")
	}
	want := of(first, b.started(1))
	want.Outcome, want.Reason = ledger.Interrupted, interrupted.Reason
	b.wantBoth(want)
	// Later claims, during and after their runs, do not change the first.
	second := b.claim(2, b.Long, locking.AtMostOnce)
	b.wantBoth(of(second, b.started(2)), want)
	b.end(second, b.finished(2, ledger.Succeeded))
	b.wantBoth(of(second, b.finished(2, ledger.Succeeded)), want)
}

func finishAfterTheLeaseRanOut(b *ledgerBench) {
	l := b.claim(1, b.Short, locking.AtMostOnce)
	b.awaitInterrupted()
	if err := l.Release(b.Context(), ledger.EncodeNote(b.finished(1, ledger.Failed))); !errors.Is(err, locking.ErrExpired) {
		b.Fatalf("Release = %v, want ErrExpired", err)
	}
	b.wantBoth(of(l, b.finished(1, ledger.Failed)))
}

// finishAfterAnotherRun: the end of a run counts even if its lease was lost.
func finishAfterAnotherRun(b *ledgerBench) {
	first := b.claim(1, b.Short, locking.AtMostOnce)
	b.awaitInterrupted()
	second := b.run(2)
	if err := first.Release(b.Context(), ledger.EncodeNote(b.finished(1, ledger.LeaseLost))); !errors.Is(err, locking.ErrLeaseLost) {
		b.Fatalf("Release = %v, want ErrLeaseLost", err)
	}
	b.wantBoth(of(second, b.finished(2, ledger.Succeeded)), of(first, b.finished(1, ledger.LeaseLost)))
}

func voidLeavesNoRun(b *ledgerBench) {
	l := b.claim(1, b.Long, locking.AtMostOnce)
	if err := l.Void(b.Context()); err != nil {
		b.Fatalf("Void = %v", err)
	}
	b.wantBoth()
	skipped := b.notRun(1, ledger.Skipped, "draining")
	b.record(skipped)
	b.want("Ticks", b.ticks(10), skipped)
}

func voidedClaimsDoNotCount(b *ledgerBench) {
	if err := b.claim(1, b.Long, locking.AtLeastOnce).Void(b.Context()); err != nil {
		b.Fatalf("Void = %v", err)
	}
	second := b.claim(1, b.Long, locking.AtLeastOnce)
	if n := second.Claim().Attempt; n < 2 {
		b.Errorf("the attempt after the one that was given back is %d", n)
	}
	only := of(second, b.started(1))
	only.Attempt = 1
	b.wantBoth(only)
}

func everyAttemptIsARun(b *ledgerBench) {
	first := b.claim(1, b.Short, locking.AtLeastOnce)
	interrupted := of(first, b.started(1))
	interrupted.Outcome, interrupted.Reason = ledger.Interrupted, b.awaitInterrupted().Reason
	second := b.claim(1, b.Long, locking.AtLeastOnce)
	b.want("Runs", b.runs(10), of(second, b.started(1)), interrupted)
	b.end(second, b.finished(1, ledger.Succeeded))
	last := of(second, b.finished(1, ledger.Succeeded))
	b.want("Runs", b.runs(10), last, interrupted)
	last.Interruptions, last.InterruptedOn = 1, interrupted.Replica
	b.want("Ticks", b.ticks(10), last)
}
