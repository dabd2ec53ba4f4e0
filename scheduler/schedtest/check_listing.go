package schedtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
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

// skimsSeveralJobs reads two jobs in stretches of many sizes, if the ledger can, and an
// unknown one.
func skimsSeveralJobs(b *ledgerBench) {
	store, ok := b.ledger.(ledger.Skimmer)
	if !ok {
		return
	}
	const ticks, other = 24, jobName + ".other"
	for n := range ticks {
		if n%3 == 0 {
			b.run(n)
		}
		if e := b.notRun(n, ledger.Skipped, "busy"); n%4 != 0 {
			b.record(e)
			e.Job, e.Stream = other, ""
			b.record(e)
		}
	}
	for _, size := range []int{1, 2, 5, 100} {
		b.wantSkimmed(store, []string{jobName, other, jobName + ".unknown"}, size)
	}
	s := ledger.Stretch{Job: jobName, NotAfter: b.tick(20), Since: b.tick(18), Limit: 100}
	some := b.skim(store, []ledger.Stretch{s}, true)[0]
	if len(some.Entries) != 2 || !some.Rest.Equal(b.tick(17)) {
		b.Errorf("Skim from tick 20 to 18 = %d entries, then %v, want those of 19 and 18, then %v", len(some.Entries), some.Rest, b.tick(17))
	}
}

// searchFindsWhatIsNotPlain searches in stretches of many sizes, if the ledger can, and wants what
// a filter of all ticks leaves.
func searchFindsWhatIsNotPlain(b *ledgerBench) {
	store, ok := b.ledger.(ledger.Skimmer)
	if !ok {
		return
	}
	b.claim(1, b.Short, locking.AtLeastOnce)
	b.awaitInterrupted()
	b.end(b.claim(1, b.Long, locking.AtLeastOnce), b.finished(1, ledger.Succeeded))
	for n := 2; n < 40; n++ {
		switch n {
		case 2: // a drain after the other
			for range 10 {
				if err := b.claim(n, b.Long, locking.AtLeastOnce).HandOver(b.Context(), ledger.EncodeNote(b.finished(n, ledger.Interrupted))); err != nil {
					b.Fatalf("HandOver = %v", err)
				}
			}
			b.end(b.claim(n, b.Long, locking.AtLeastOnce), b.finished(n, ledger.Failed))
		case 3, 4, 20:
			b.end(b.claim(n, b.Long, locking.AtMostOnce), b.finished(n, ledger.Failed))
		case 5:
			b.end(b.claim(n, b.Long, locking.AtMostOnce), b.finished(n, ledger.Cancelled))
		case 6:
			stale := b.finished(n, ledger.Succeeded)
			stale.StaleWrites = 2
			b.end(b.claim(n, b.Long, locking.AtMostOnce), stale)
		case 7, 30:
			b.record(b.notRun(n, ledger.Missed, "no quorum"))
		case 8:
			b.record(b.notRun(n, ledger.Skipped, `he said "outcome":"missed", "stale":1`))
		default:
			b.run(n)
		}
	}
	b.claim(40, b.Long, locking.AtMostOnce) // it goes on
	b.settle()
	var want []string
	for _, e := range b.ticks(100) {
		if !e.Plain() {
			want = append(want, brief(e))
		}
	}
	if len(want) != 9 {
		b.Errorf("%d ticks are not plain: %v", len(want), want)
	}
	for _, size := range []int{1, 2, 3, 100} {
		var got []string
		ask := []ledger.Stretch{{Job: jobName, Limit: size}, {Job: jobName + ".unknown", Limit: size}}
		for rounds := 0; len(ask) > 0; rounds++ {
			list, err := store.Search(b.Context(), ask)
			if err != nil || len(list) != len(ask) || rounds > 200 {
				b.Fatalf("Search of %v = %d, %v in round %d", ask, len(list), err, rounds)
			}
			if len(list[0].Entries) > ask[0].Limit {
				b.Errorf("%d entries are more than %d", len(list[0].Entries), ask[0].Limit)
			}
			for _, e := range list[0].Entries {
				got = append(got, brief(e))
			}
			next := ledger.Stretch{Job: jobName, NotAfter: list[0].Rest, Limit: size}
			if next.NotAfter.Equal(ask[0].NotAfter) {
				next.Limit = 2 * ask[0].Limit
			}
			if ask = nil; !next.NotAfter.IsZero() {
				ask = []ledger.Stretch{next}
			}
		}
		if !slices.Equal(got, want) {
			b.Errorf("searched in stretches of %d:\n%v\nwant\n%v", size, got, want)
		}
	}
	some, err := store.Search(b.Context(), []ledger.Stretch{{Job: jobName, NotAfter: b.tick(7), Since: b.tick(4), Limit: 100}})
	if err != nil || len(some) != 1 || len(some[0].Entries) != 3 || !some[0].Rest.Equal(b.tick(3)) {
		b.Errorf("Search from tick 7 to 4 = %+v, %v, want three, and the rest from tick 3 on", some, err)
	}
}

// wantSkimmed wants the stretches together to equal Ticks, and Runs.
func (b *ledgerBench) wantSkimmed(store ledger.Skimmer, jobs []string, size int) {
	b.Helper()
	for _, perTick := range []bool{true, false} {
		got, ask := map[string][]string{}, []ledger.Stretch{}
		for _, job := range jobs {
			ask = append(ask, ledger.Stretch{Job: job}) // asks where it begins
		}
		for rounds := 0; len(ask) > 0; rounds++ {
			if rounds > 200 {
				b.Fatalf("Skim never comes to the end of %v", ask)
			}
			var next []ledger.Stretch
			for i, s := range b.skim(store, ask, perTick) {
				for _, e := range s.Entries {
					if perTick || e.Ran() {
						got[ask[i].Job] = append(got[ask[i].Job], brief(e))
					}
				}
				if !s.Rest.IsZero() {
					next = append(next, ledger.Stretch{Job: ask[i].Job, NotAfter: s.Rest, Limit: max(size, 2*ask[i].Limit)})
				}
			}
			ask = next
		}
		for _, job := range jobs {
			b.wantListed(job, perTick, size, got[job])
		}
	}
}

func (b *ledgerBench) wantListed(job string, perTick bool, size int, got []string) {
	b.Helper()
	read := b.ledger.Runs
	if perTick {
		read = b.ledger.Ticks
	}
	list, err := read(b.Context(), ledger.Query{Job: job, Limit: 1000})
	if err != nil {
		b.Fatalf("listing %s: %v", job, err)
	}
	var want []string
	for _, e := range list {
		want = append(want, brief(e))
	}
	if !slices.Equal(got, want) {
		b.Errorf("%s, per tick %t, in stretches of %d:\n%v\nwant\n%v", job, perTick, size, got, want)
	}
}

func (b *ledgerBench) skim(ledger ledger.Skimmer, ask []ledger.Stretch, perTick bool) []ledger.Skimmed {
	b.Helper()
	list, err := ledger.Skim(b.Context(), ask, perTick)
	if err != nil || len(list) != len(ask) {
		b.Fatalf("Skim of %d stretches = %d, %v", len(ask), len(list), err)
	}
	return list
}

func brief(e ledger.Entry) string { return e.ID() + " " + string(e.Outcome) }
