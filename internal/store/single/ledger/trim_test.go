package ledger

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
)

// However ticks run, are recorded and are dropped, listings, pages and stretches of every size
// have what a simple model has.
func TestListingsAreThoseOfAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t)
		m := &model{runs: map[int]bool{}, notes: map[int]string{}, trimmed: -1}
		last := -1
		for range rapid.IntRange(10, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				last += rapid.IntRange(1, 3).Draw(rt, "gap")
				c.end(c.claim("job", last), "job", last)
				m.runs[last] = true
			case 1, 2:
				n, why := rapid.IntRange(0, 30).Draw(rt, "tick"), rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "why")
				first, err := c.Record(t.Context(), skipped("job", n, why))
				if err != nil || first != m.record(n, why) {
					rt.Fatalf("recording tick %d: first %t, %v", n, first, err)
				}
			case 3:
				keep := rapid.IntRange(1, 9).Draw(rt, "keep")
				if err := c.Store(t.Context(), "job", jobs.History{Keep: keep}); err != nil {
					rt.Fatal(err)
				}
				m.trim(keep)
			}
		}
		size := rapid.IntRange(1, 9).Draw(rt, "size")
		wants(rt, "runs", c.paged(size, c.Runs), m.list(false))
		wants(rt, "ticks", c.paged(size, c.Ticks), m.list(true))
		wants(rt, "stretches", c.skimmed(size), m.list(true))
	})
}

type model struct {
	runs    map[int]bool
	notes   map[int]string
	trimmed int
}

func (m *model) record(n int, why string) (first bool) {
	if n <= m.trimmed {
		return false
	}
	have, known := m.notes[n]
	m.notes[n] = max(have, why)
	return !known
}

func (m *model) trim(keep int) {
	drop := func(ticks []int) []int {
		slices.Sort(ticks)
		gone := ticks[:max(0, len(ticks)-keep)]
		if len(gone) > 0 {
			m.trimmed = max(m.trimmed, gone[len(gone)-1])
		}
		return gone
	}
	for _, n := range drop(keys(m.runs)) {
		delete(m.runs, n)
	}
	for _, n := range drop(keys(m.notes)) {
		delete(m.notes, n)
	}
}

func keys[V any](m map[int]V) []int {
	var list []int
	for n := range m {
		list = append(list, n)
	}
	return list
}

func (m *model) list(notes bool) []string {
	var list []string
	for n := 200; n >= 0; n-- {
		if m.runs[n] {
			list = append(list, fmt.Sprint(n, " succeeded"))
		} else if why, ok := m.notes[n]; ok && notes && n > m.trimmed {
			list = append(list, fmt.Sprint(n, " skipped ", why))
		}
	}
	return list
}

func brief(e ledger.Entry) string {
	text := fmt.Sprint(int(e.Tick.Sub(tick(0)).Seconds()), " ", e.Outcome)
	if e.Outcome == ledger.Skipped {
		text += " " + e.Reason.String()
	}
	return text
}

func wants(rt *rapid.T, what string, got, want []string) {
	if !slices.Equal(got, want) {
		rt.Fatalf("%s:\n%q, want\n%q", what, got, want)
	}
}

// paged reads all, in pages.
func (c *cluster) paged(size int, read func(context.Context, ledger.Query) ([]ledger.Entry, error)) []string {
	var got []string
	for q := (ledger.Query{Job: "job", Limit: size}); ; {
		list, err := read(c.Context(), q)
		if err != nil {
			c.Fatal(err)
		}
		for _, e := range list {
			got = append(got, brief(e))
			q.Before = e.OrderKey()
		}
		if len(list) < size {
			return got
		}
	}
}

// skimmed reads all, in stretches.
func (c *cluster) skimmed(size int) []string {
	var got []string
	for s := (ledger.Stretch{Job: "job", Limit: size}); ; s.Limit *= 2 { // both entries of a tick
		some, err := c.Skim(c.Context(), []ledger.Stretch{s}, true)
		if err != nil {
			c.Fatal(err)
		}
		for _, e := range some[0].Entries {
			got = append(got, brief(e))
		}
		if s.NotAfter = some[0].Rest; s.NotAfter.IsZero() {
			return got
		}
	}
}
