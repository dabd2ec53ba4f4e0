package ledger

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

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
		m := &model{runs: map[int]ledger.Outcome{}, notes: map[int]string{}, trimmed: -1, newest: map[ledger.Outcome]time.Time{}}
		last := -1
		for range rapid.IntRange(10, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				last += rapid.IntRange(1, 3).Draw(rt, "gap")
				m.runs[last] = rapid.SampledFrom([]ledger.Outcome{ledger.Succeeded, ledger.Succeeded, ledger.Failed, ledger.Cancelled}).Draw(rt, "outcome")
				e := finished("job", last)
				e.Outcome = m.runs[last]
				if err := c.claim("job", last).Release(t.Context(), ledger.EncodeNote(e)); err != nil {
					rt.Fatal(err)
				}
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
		got, err := c.Skim(t.Context(), []ledger.Stretch{{Job: "job"}}, true)
		if err != nil || !got[0].TrimmedSuccess.Equal(m.newest[ledger.Succeeded]) || !got[0].TrimmedFailure.Equal(m.newest[ledger.Failed]) {
			rt.Fatalf("of dropped runs is known %+v, %v, want %v", got, err, m.newest)
		}
	})
}

type model struct {
	runs    map[int]ledger.Outcome
	notes   map[int]string
	trimmed int
	newest  map[ledger.Outcome]time.Time // of the dropped runs
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
	for _, n := range drop(keys(m.runs)) { // the oldest first
		m.newest[m.runs[n]] = tick(n)
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
		if o, ran := m.runs[n]; ran {
			list = append(list, fmt.Sprint(n, " ", o))
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

// A release that does not know of dropped runs stores the past without them. Then only newer ones count, also
// after a run that cannot be read.
func TestUnseenDropsMakeTheLastRunsUnknown(t *testing.T) {
	t.Parallel()
	run := func(n int, o ledger.Outcome) ledger.Entry {
		return ledger.Entry{Token: 1, Tick: time.UnixMilli(int64(n)), Outcome: o}
	}
	for what, c := range map[string]struct {
		before  past
		dropped []ledger.Entry
		want    past
	}{
		"nothing was dropped":       {past{}, []ledger.Entry{run(3, ledger.Failed), run(2, ledger.Succeeded), run(1, ledger.Succeeded)}, past{Trimmed: 3, Seen: 3, Success: 2, Failure: 3}},
		"late ones are older":       {past{Trimmed: 9, Seen: 9, Success: 8, Failure: 7}, []ledger.Entry{run(5, ledger.Failed), run(4, ledger.Succeeded)}, past{Trimmed: 9, Seen: 9, Success: 8, Failure: 7}},
		"another release dropped 9": {past{Trimmed: 9}, []ledger.Entry{run(10, ledger.TimedOut), run(8, ledger.Succeeded)}, past{Trimmed: 10, Seen: 10, Success: -9, Failure: 10}},
		"after it had seen 4":       {past{Trimmed: 9, Seen: 4, Success: 3, Failure: 4}, []ledger.Entry{run(10, ledger.Skipped)}, past{Trimmed: 10, Seen: 10, Success: -9, Failure: -9}},
		"one is unread":             {past{Trimmed: 4, Seen: 4, Success: 3, Failure: 4}, []ledger.Entry{run(6, ledger.Succeeded), run(5, ledger.Unreadable)}, past{Trimmed: 6, Seen: 6, Success: 6, Failure: -5}},
	} {
		if c.before.drop(c.dropped); c.before != c.want {
			t.Errorf("%s: %+v, want %+v", what, c.before, c.want)
		}
	}
}
