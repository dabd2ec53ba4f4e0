package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/sim"
)

// TestSim runs whole clusters through all kinds of trouble, and holds what was
// seen against the promises.
func TestSim(t *testing.T) {
	t.Parallel()
	clusters(t, "TestSim", draw)
}

// TestSimOnStore is TestSim on one store.
func TestSimOnStore(t *testing.T) {
	t.Parallel()
	clusters(t, "TestSimOnStore", func(seed sim.Seed) params { return draw(seed).onStore() })
}

// TestSimOnSQL is TestSim on a database.
func TestSimOnSQL(t *testing.T) {
	t.Parallel()
	clusters(t, "TestSimOnSQL", func(seed sim.Seed) params { return draw(seed).onSQL() })
}

func clusters(t *testing.T, test string, draw func(sim.Seed) params) {
	t.Helper()
	worlds := sized(*seeds, sample)
	total := run(t, test, worlds, draw)
	if worlds >= 4 && total.Count(sim.Began) < 2*worlds {
		t.Errorf("only %d runs in %d worlds: they show little", total.Count(sim.Began), worlds)
	}
}

// run simulates so many worlds, from the first seed asked for on, and reports one
// in which a promise is broken.
func run(t *testing.T, test string, worlds int, draw func(sim.Seed) params) *sim.Summary {
	t.Helper()
	total, began := sim.NewSummary(), time.Now()
	each(t, worlds, func(t *testing.T, i int) bool {
		p := draw(sim.Seed(*first + i))
		all := p.troubles
		p.troubles = keep(all, *only)
		r := simulate(t, p)
		total.Add(r.record, r.faults, r.violations)
		if *verbose {
			for _, e := range r.record.Events {
				t.Log(e)
			}
		}
		if len(r.violations) == 0 {
			return true
		}
		report(t, test, r, func(troubles []int) result {
			p := p
			p.troubles = pick(all, troubles)
			return simulate(t, p)
		})
		return false
	})
	t.Logf("%v%.0f worlds a minute", total, float64(worlds)/time.Since(began).Minutes())
	return total
}

func pick(troubles []sim.Trouble, numbers []int) []sim.Trouble {
	picked := make([]sim.Trouble, len(numbers))
	for i, n := range numbers {
		picked[i] = troubles[n]
	}
	return picked
}

// TestSeedDecides runs worlds twice. What a seed does not decide is the order
// in which goroutines of one replica run that wake at the same instant, so a
// few worlds may differ.
func TestSeedDecides(t *testing.T) {
	t.Parallel()
	const worlds = 8
	same := 0
	for seed := range sim.Seed(worlds) {
		p := draw(seed + 1000)
		if slices.Equal(simulate(t, p).record.Events, simulate(t, p).record.Events) {
			same++
		}
	}
	if same <= worlds/2 {
		t.Errorf("only %d of %d worlds have the same history twice", same, worlds)
	}
}
