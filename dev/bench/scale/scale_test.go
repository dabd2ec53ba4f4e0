package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func small(mend func(*Params)) Params {
	p := typical
	p.Replicas, p.Jobs = 20, 400
	mend(&p)
	return p
}

// What is said by arithmetic is what is seen when the messages are played through.
func TestFormula(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Params{
		"one replica":    small(func(p *Params) { p.Replicas = 1 }),
		"few replicas":   small(func(p *Params) { p.Replicas = 3 }),
		"many replicas":  small(func(p *Params) { p.Replicas = 100 }),
		"small batches":  small(func(p *Params) { p.MaxBatch = 4 }),
		"longer than it": small(func(p *Params) { p.Run = time.Minute }),
		"some are dead":  small(func(p *Params) { p.Dead = 5 }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, seen := Formula(p), Simulate(p, 1)
			if seen.Wrong != 0 {
				t.Fatalf("%d ticks did not run exactly once", seen.Wrong)
			}
			near := func(what string, said, seen, share float64) {
				t.Helper()
				if math.Abs(said-seen) > share*seen {
					t.Errorf("%s: %.4g by the formula, %.4g simulated", what, said, seen)
				}
			}
			near("calls per tick", said.calls(), seen.calls(), 0.05)
			if p.Dead == 0 { // who finds nothing looks again, in smaller batches
				near("commands per tick", said.Commands, seen.Commands, 0.35)
				near("work of a node", float64(said.Busy), float64(seen.Busy), 0.1)
			}
		})
	}
}

// A further replica costs a tick one call.
func TestFurtherReplica(t *testing.T) {
	t.Parallel()
	calls := func(replicas int) float64 {
		return Simulate(small(func(p *Params) { p.Replicas = replicas }), 1).calls()
	}
	if two, fifty := calls(2), calls(50); fifty-two > 1.05*48 {
		t.Errorf("%.4g calls per tick with 2 replicas, %.4g with 50", two, fifty)
	}
}

func TestSeedDecides(t *testing.T) {
	t.Parallel()
	p := small(func(p *Params) { p.Dead = 3 })
	if a, b, c := Simulate(p, 1), Simulate(p, 1), Simulate(p, 2); a.Last != b.Last || a.Last == c.Last {
		t.Errorf("seed 1 gives %v and %v, seed 2 gives %v", a.Last, b.Last, c.Last)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := table(&out, []Params{small(func(*Params) {})}, 1); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%s, %v", &out, err)
	}
	for _, bad := range []func(*Params){
		func(p *Params) { p.Replicas = 0 }, func(p *Params) { p.Nodes = 4 }, func(p *Params) { p.Instants = 0 },
		func(p *Params) { p.MaxBatch = 0 }, func(p *Params) { p.Together = 0 },
	} {
		if err := table(&out, []Params{small(bad)}, 1); err == nil {
			t.Errorf("accepted: %+v", small(bad))
		}
	}
}
