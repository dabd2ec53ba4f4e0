package pages

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/health"
)

// A nodeRow is a node, with its last hour as this replica saw it.
type nodeRow struct {
	view.Node
	Strip          *strip // nil: no samples yet
	Latency, Clock course // Clock is how far it was off, in either direction
}

// A course is a figure over time.
type course struct {
	Spark string // a path in 64 × 18; "": unknown
	About string
}

// newNodeRow draws the minutes, oldest first, in a grid of minutes.
func newNodeRow(n view.Node, g grid, minutes []health.Minute, show times) nodeRow {
	row := nodeRow{Node: n}
	worst, words := make([]string, g.n), make([]string, g.n)
	latency := slices.Repeat([]time.Duration{-1}, g.n) // unknown
	clock := slices.Clone(latency)
	for _, m := range minutes {
		at, i := g.at(m.At), slices.IndexFunc(m.Nodes, func(s health.State) bool { return s.Node == n.Node })
		if at < 0 || i < 0 {
			continue
		}
		if row.Strip == nil {
			row.Strip = &strip{Cells: g.n, Kept: at, About: "Since " + show.clock(m.At) + ": "}
		}
		s := m.Nodes[i]
		worst[at], words[at] = stateOf(s, n.Kind)
		if s.Up {
			latency[at] = s.Latest
		}
		if s.Up && s.Offset != 0 { // else the store has no clock
			clock[at] = s.Offset.Abs()
		}
	}
	row.Latency, row.Clock = newCourse("Answers in", latency), newCourse("Clock off by", clock)
	if row.Strip != nil {
		row.Strip.draw(g, worst, func(at int) string { return words[at] }, show)
		row.Strip.About += minutesOf(words)
	}
	return row
}

// stateOf is the class and the name of a state.
func stateOf(s health.State, kind string) (class, word string) {
	word = view.NodeVoting
	if kind == view.KindStore {
		word = view.NodeReady
	}
	switch {
	case !s.Up:
		return "bad", view.NodeDown
	case !s.Votes:
		return "warn", "not " + word
	}
	return "good", word
}

// minutesOf says for how many minutes each word stands; by name trouble comes first.
func minutesOf(words []string) string {
	counts := map[string]int{}
	for _, word := range words {
		counts[word]++
	}
	delete(counts, "") // unknown
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, word+" in "+view.Count(counts[word], "minute", "minutes"))
	}
	return strings.Join(parts, ", ")
}

// newCourse draws a figure by minutes; it is negative where it is unknown.
func newCourse(name string, values []time.Duration) course {
	known := slices.DeleteFunc(slices.Clone(values), func(d time.Duration) bool { return d < 0 })
	if len(known) == 0 {
		return course{}
	}
	var all []float64
	for _, d := range values {
		all = append(all, float64(d))
	}
	part := func(part float64) string { return millis(new(view.Quantile(known, part).Seconds() * 1e3)) }
	about := fmt.Sprintf("%s p95 %s, at most %s, in %s", name, part(0.95), part(1), view.Count(len(known), "minute", "minutes"))
	return course{sparkOf(all, 64, 18), about}
}
