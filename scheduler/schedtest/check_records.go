package schedtest

import (
	"context"
	"fmt"
	"sync"

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
