package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/sim"
)

// healthy is a world of five nodes in which nothing goes wrong: replicas whose
// clocks agree, and messages that take up to 2 ms.
func healthy(replicas, jobs, ticks int, takes time.Duration) params {
	return params{
		seed: 1, nodes: 5, replicas: replicas, jobs: jobs, every: 2 * time.Second, length: time.Duration(ticks/jobs) * 2 * time.Second,
		weather: sim.Weather{Delay: 2 * time.Millisecond}, calm: true, roster: true, takes: takes,
	}
}

// perTick is how many commands a tick took, of all but those that are sent also
// when nothing is due, and those of each script.
func perTick(r result) (all float64, scripts string) {
	ticks := 0
	for _, l := range r.record.Ledgers {
		ticks += len(l.Due)
	}
	var list []string
	for _, script := range slices.Sorted(maps.Keys(r.calls)) {
		n := float64(r.calls[script]) / float64(ticks)
		switch script {
		case "lock", "commit", "extend", "finish", "void", "look", "record":
			all += n
			list = append(list, fmt.Sprintf("%s %.2f", script, n))
		}
	}
	return all, strings.Join(list, ", ")
}

// The first in rank claims in one round and finishes; every other replica takes
// one look. That is what a tick may cost, whatever else is changed: a guard for
// the promise that a cluster pays for a tick once, not once per replica.
func TestCommandsPerTick(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		replicas int
		takes    time.Duration // a run
		budget   float64
	}{
		{2, 5 * time.Millisecond, 12},
		{5, 5 * time.Millisecond, 16},
		{20, 5 * time.Millisecond, 32},
		{50, 5 * time.Millisecond, 62},
		// Longer than a look: a quorum of nodes must say that the tick is claimed.
		{2, 700 * time.Millisecond, 20},
		{20, 700 * time.Millisecond, 15 + 3*19 + 5},
	} {
		t.Run(fmt.Sprintf("%d replicas, runs of %v", tt.replicas, tt.takes), func(t *testing.T) {
			t.Parallel()
			r := simulate(t, healthy(tt.replicas, 2, 40, tt.takes))
			all, scripts := perTick(r)
			t.Logf("%.1f commands per tick: %s", all, scripts)
			if all > tt.budget {
				t.Errorf("%.1f commands per tick, want at most %v", all, tt.budget)
			}
			for _, v := range r.violations {
				t.Error(v)
			}
		})
	}
}

// Of 2,000 ticks that come to twenty replicas at one instant, with a window of one
// second, none is without a winner, with up to 2 ms to each node and back. The
// benchmarks read what it logs.
func TestNoTickWithoutAWinner(t *testing.T) {
	t.Parallel()
	ticks := 2000
	if testing.Short() {
		ticks = 200
	}
	p := healthy(20, 5, ticks, 5*time.Millisecond)
	p.every, p.length = p.every/2, p.length/2
	r := simulate(t, p)
	ran, due := 0, 0
	for _, l := range r.record.Ledgers {
		due += len(l.Due)
		for _, line := range l.Lines {
			if line.Ran {
				ran++
			}
		}
	}
	t.Logf("%d of %d ticks without a winner, %d replicas", due-ran, due, p.replicas)
	if due < ticks || ran != due {
		t.Errorf("%d of %d ticks ran, want %d", ran, due, ticks)
	}
	for _, v := range r.violations {
		t.Error(v)
	}
}

// Five replicas win about as many of 1,000 ticks each.
func TestWinsAreEven(t *testing.T) {
	t.Parallel()
	r := simulate(t, healthy(5, 5, 1000, 5*time.Millisecond))
	wins := map[string]int{}
	for _, e := range r.record.Events {
		if e.What == sim.Granted {
			wins[e.Replica]++
		}
	}
	counts := slices.Sorted(maps.Values(wins))
	t.Logf("wins: %v", wins)
	if len(counts) != 5 || float64(counts[4]) > 1.5*float64(counts[0]) {
		t.Errorf("wins are uneven: %v", wins)
	}
}
