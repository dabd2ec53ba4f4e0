package schedtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

func runHidesARecord(b *ledgerBench) {
	b.record(b.notRun(1, ledger.Missed, "this replica lost touch"))
	l := b.run(1)
	b.record(b.notRun(1, ledger.Skipped, "so did this one"))
	b.wantBoth(of(l, b.finished(1, ledger.Succeeded)))
}

func newestFirst(b *ledgerBench) {
	first := b.run(2)
	b.record(b.notRun(3, ledger.Skipped, "busy"))
	second := b.run(4)
	b.record(b.notRun(1, ledger.Missed, "told late"))
	ran1, ran2 := of(first, b.finished(2, ledger.Succeeded)), of(second, b.finished(4, ledger.Succeeded))
	skipped, missed := b.notRun(3, ledger.Skipped, "busy"), b.notRun(1, ledger.Missed, "told late")
	b.want("Ticks", b.ticks(10), ran2, skipped, ran1, missed)
	b.want("Ticks", b.ticks(2), ran2, skipped)
	b.want("Runs", b.runs(10), ran2, ran1)
	b.want("Runs", b.runs(1), ran2)
}

// pagesCoverEveryTickOnce reads the ledger in small pages, each before the last tick of the
// previous one.
func pagesCoverEveryTickOnce(b *ledgerBench) {
	const ticks, limit = 40, 3
	for n := range ticks {
		if n%4 == 0 {
			b.run(n)
		}
		if n%4 != 2 { // some both ran and were recorded
			b.record(b.notRun(n, ledger.Skipped, "busy"))
		}
	}
	var got []time.Time
	q := ledger.Query{Job: jobName, Limit: limit}
	for {
		list, err := b.ledger.Ticks(b.Context(), q)
		if err != nil {
			b.Fatalf("Ticks = %v", err)
		}
		if len(list) == 0 {
			break
		}
		if len(list) > limit {
			b.Fatalf("Ticks returned %d entries, the limit is %d", len(list), limit)
		}
		for _, e := range list {
			got = append(got, e.Tick)
		}
		q.Before = got[len(got)-1]
		if len(got) > ticks {
			break
		}
	}
	var want []time.Time
	for n := ticks - 1; n >= 0; n-- {
		if n%4 != 2 {
			want = append(want, b.tick(n))
		}
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		b.Errorf("pages list the ticks\n%v, want\n%v", got, want)
	}
}

// runsAreFoundBehindRecords: a limit on runs does not count other ticks.
func runsAreFoundBehindRecords(b *ledgerBench) {
	l := b.run(0)
	for n := range min(60, b.Keep-2) {
		b.record(b.notRun(n+1, ledger.Skipped, "busy"))
	}
	b.want("Runs", b.runs(1), of(l, b.finished(0, ledger.Succeeded)))
}

// selects reads with every filter, which apply before the limit.
func selects(b *ledgerBench) {
	var want []ledger.Entry
	for n := range 40 {
		if n%10 == 0 {
			l := b.run(n)
			want = append([]ledger.Entry{of(l, b.finished(n, ledger.Succeeded))}, want...)
			continue
		}
		b.record(b.notRun(n, ledger.Skipped, "busy"))
	}
	for _, c := range []struct {
		what string
		q    ledger.Query
		want []ledger.Entry
	}{
		{"since and before", ledger.Query{Since: b.tick(10), Before: b.tick(30), Outcomes: []ledger.Outcome{ledger.Succeeded}}, want[1:3]},
		{"outcomes", ledger.Query{Outcomes: []ledger.Outcome{ledger.Succeeded, ledger.Failed}}, want},
		{"since", ledger.Query{Since: b.tick(39)}, []ledger.Entry{b.notRun(39, ledger.Skipped, "busy")}},
		{"triggers", ledger.Query{Triggers: []ledger.Trigger{ledger.ByManual}}, nil},
		{"limit", ledger.Query{Outcomes: []ledger.Outcome{ledger.Succeeded}, Limit: 2}, want[:2]},
	} {
		c.q.Job = jobName
		c.q.Limit = cmp.Or(c.q.Limit, 4)
		list, err := b.ledger.Ticks(b.Context(), c.q)
		if err != nil {
			b.Fatalf("Ticks = %v", err)
		}
		b.want("Ticks by "+c.what, list, c.want...)
	}
}
