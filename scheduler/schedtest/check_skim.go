package schedtest

import (
	"slices"

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
