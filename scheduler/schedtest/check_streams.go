package schedtest

import (
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

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
