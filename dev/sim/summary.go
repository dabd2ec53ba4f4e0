package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Summary adds up the results of many worlds. It may be used by many goroutines.
type Summary struct {
	mu         sync.Mutex
	worlds     int
	events     map[What]int
	faults     map[Fault]int
	outcomes   map[string]int
	situations map[string]int
	violations map[string]int
}

// NewSummary returns a Summary of no worlds.
func NewSummary() *Summary {
	return &Summary{
		events: map[What]int{}, faults: map[Fault]int{}, outcomes: map[string]int{}, situations: map[string]int{},
		violations: map[string]int{},
	}
}

// Add adds a world.
func (s *Summary) Add(r Record, faults map[Fault]int, violations []Violation) {
	situations := Count(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worlds++
	for what, n := range situations {
		s.situations[what] += n
	}
	for _, e := range r.Events {
		s.events[e.What]++
	}
	for f, n := range faults {
		s.faults[f] += n
	}
	for _, l := range r.Ledgers {
		for _, line := range l.Lines {
			s.outcomes[line.what()]++
		}
	}
	for _, v := range violations {
		s.violations[v.Promise]++
	}
}

// what is how a line is counted: why it ran is said where that is not the
// schedule.
func (l Line) what() string {
	if l.Trigger == "" || l.Trigger == "schedule" {
		return l.Outcome
	}
	return l.Outcome + ", " + l.Trigger
}

// Ledger returns how many ticks there were with an outcome, and with a trigger
// other than the schedule if it is named.
func (s *Summary) Ledger(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcomes[what]
}

// Count returns how many events of a kind there were.
func (s *Summary) Count(what What) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[what]
}

// Came returns how often a situation came about.
func (s *Summary) Came(situation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.situations[situation]
}

// Violations returns how often a promise was broken.
func (s *Summary) Violations(promise string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.violations[promise]
}

// String is a table, one row per number.
func (s *Summary) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	row := func(name string, n int) { fmt.Fprintf(&b, "%-50s %9d\n", name, n) }
	b.WriteByte('\n')
	row("worlds", s.worlds)
	for _, e := range []struct {
		name string
		what What
	}{
		{"attempts", Asked},
		{"claims granted", Granted},
		{"leases extended", Extended},
		{"runs begun", Began},
		{"writes taken", Wrote},
		{"stale writes refused", Rejected},
	} {
		row(e.name, s.events[e.what])
	}
	for _, f := range Faults() {
		if s.faults[f] > 0 {
			row("fault: "+string(f), s.faults[f])
		}
	}
	for _, o := range slices.Sorted(maps.Keys(s.outcomes)) {
		row("ledger: "+o, s.outcomes[o])
	}
	for _, what := range Situations() {
		if s.situations[what] > 0 {
			row(what, s.situations[what])
		}
	}
	for _, p := range Promises() {
		row("broken: "+p, s.violations[p])
	}
	return b.String()
}
