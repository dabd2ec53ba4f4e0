package schedtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

func nothingIsKnownOfANewJob(b *ledgerBench) { b.wantBoth() }

func recordKeepsTheEntry(b *ledgerBench) {
	skipped := b.notRun(1, ledger.Skipped, "the lease of \"b\" is open until 12:00")
	missed := b.notRun(2, ledger.Missed, "no quorum – 2 of 5 nodes answered")
	b.record(skipped)
	b.record(missed)
	b.want("Ticks", b.ticks(10), missed, skipped)
	b.want("Runs", b.runs(10))
}

// highestRecordStays: in any order, on any nodes.
func highestRecordStays(b *ledgerBench) {
	drained, silent := b.notRun(1, ledger.Missed, ""), b.notRun(1, ledger.Missed, "")
	drained.Reason = ledger.Reason{Code: ledger.CodeDrained}
	silent.Reason = ledger.Reason{Code: ledger.CodeNoQuorum}
	late := ledger.Reason{Code: ledger.CodeCatchUp, Variant: ledger.VariantLast}
	guessed, last := silent, silent
	guessed.Reason, last.Reason = late.And(ledger.Reason{Code: ledger.CodeUnknown}), late.And(ledger.Reason{Code: ledger.CodeNoReplica})
	skipped := b.notRun(1, ledger.Skipped, "an earlier run goes on")
	for _, e := range []ledger.Entry{drained, silent, guessed, last, skipped} {
		b.record(e)
		b.record(drained)
		b.want("Ticks", b.ticks(10), e)
	}
	b.record(last)
	b.record(silent)
	b.want("Ticks", b.ticks(10), skipped)
}

func concurrentRecordsAgree(b *ledgerBench) {
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			errs[i] = b.tryRecord(b.notRun(1, ledger.Skipped, fmt.Sprint("by ", i)))
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			b.Fatalf("Record = %v", err)
		}
	}
	said := b.ticks(10)
	if len(said) != 1 {
		b.Fatalf("Ticks returned %d entries for one tick", len(said))
	}
	b.record(b.notRun(1, ledger.Missed, "later"))
	b.want("Ticks", b.ticks(10), said...)
}

func jobsAreApart(b *ledgerBench) {
	other := b.notRun(1, ledger.Skipped, "not ours")
	other.Job = jobName + ".other"
	b.record(other)
	b.wantBoth()
}

func bounded(b *ledgerBench) {
	const more = 10
	for n := range b.Keep + more {
		b.record(b.notRun(n, ledger.Skipped, "busy"))
	}
	got := b.ticks(2 * (b.Keep + more))
	if len(got) == 0 || len(got) > b.Keep {
		b.Fatalf("Ticks returned %d entries, want some, at most %d", len(got), b.Keep)
	}
	if newest := b.tick(b.Keep + more - 1); !got[0].Tick.Equal(newest) {
		b.Errorf("newest tick = %v, want %v: the oldest must go first", got[0].Tick, newest)
	}
}

func endedContextIsAnError(b *ledgerBench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if _, err := b.ledger.Record(ctx, b.notRun(1, ledger.Skipped, "")); err == nil {
		b.Error("Record = nil, want an error")
	}
	q := ledger.Query{Job: jobName, Limit: 1}
	if _, err := b.ledger.Runs(ctx, q); err == nil {
		b.Error("Runs = nil, want an error")
	}
	if _, err := b.ledger.Ticks(ctx, q); err == nil {
		b.Error("Ticks = nil, want an error")
	}
}

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

// asked is the note of a run of the n-th tick that was requested at the instant of tick m.
func (b *ledgerBench) asked(n, m int) ledger.Entry {
	e := b.started(n)
	e.Stream, e.Order, e.Trigger = "backfill", b.tick(m), ledger.ByBackfill
	return e
}

// runAsked runs it from start to end, and returns its expected entry.
func (b *ledgerBench) runAsked(n, m int) ledger.Entry {
	b.Helper()
	start := b.asked(n, m)
	l := b.request(locking.Request{
		Name: jobName, Tick: start.Order, Stream: start.Stream, TTL: b.Long, Holder: "a",
		Note: ledger.EncodeNote(start),
	})
	end := b.finished(n, ledger.Succeeded)
	end.Stream, end.Order, end.Trigger = start.Stream, start.Order, start.Trigger
	b.end(l, end)
	return of(l, end)
}

// streamsAreListedTogether: each by the time of its request, under its nominal tick, and
// none replaces another.
func streamsAreListedTogether(b *ledgerBench) {
	scheduled := of(b.run(3), b.finished(3, ledger.Succeeded))
	filled := b.runAsked(1, 3)
	late := b.runAsked(3, 5)
	missed := b.notRun(1, ledger.Missed, "nobody was there")
	b.record(missed)
	b.want("Runs", b.runs(10), late, scheduled, filled)
	b.want("Ticks", b.ticks(10), late, scheduled, filled, missed)
	b.want("Ticks", b.ticks(1), late)
	list, err := b.ledger.Ticks(b.Context(), ledger.Query{Job: jobName, Limit: 10, Before: b.tick(3)})
	if err != nil {
		b.Fatalf("Ticks = %v", err)
	}
	b.want("Ticks before the third", list, missed)
	seen := map[string]time.Time{}
	for _, e := range b.runs(10) {
		if at, twice := seen[e.ID()]; twice {
			b.Errorf("the runs of %v and %v have one id, %s", at, e.OrderKey(), e.ID())
		}
		seen[e.ID()] = e.OrderKey()
	}
}

// recordStaysInItsStream: a record replaces none of another stream.
func recordStaysInItsStream(b *ledgerBench) {
	first := b.notRun(1, ledger.Missed, "first")
	other := b.asked(0, 1)
	other.Outcome, other.Reason, other.Started = ledger.Skipped, ledger.TextReason("first of its stream"), time.Time{}
	b.record(first)
	b.record(other)
	again := other
	again.Outcome = ledger.Missed
	b.record(again)
	b.want("Ticks", b.ticks(10), first, other)
}

// runsBesideOneAnother: each is running until it records its end.
func runsBesideOneAnother(b *ledgerBench) {
	claim := func(n int) locking.Lease {
		return b.request(locking.Request{
			Name: jobName, Tick: b.tick(n), TTL: b.Long, Holder: "a", Beside: true,
			Note: ledger.EncodeNote(b.started(n)),
		})
	}
	first, second := claim(1), claim(2)
	b.wantBoth(of(second, b.started(2)), of(first, b.started(1)))
	b.end(first, b.finished(1, ledger.Failed))
	b.wantBoth(of(second, b.started(2)), of(first, b.finished(1, ledger.Failed)))
	b.end(second, b.finished(2, ledger.Succeeded))
	b.wantBoth(of(second, b.finished(2, ledger.Succeeded)), of(first, b.finished(1, ledger.Failed)))
}
