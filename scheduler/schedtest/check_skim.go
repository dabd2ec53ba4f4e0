package schedtest

import (
	"slices"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

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
