package sim_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/sim"
)

// each calls f for the numbers from 0 up to n, on all cores, until f has had
// enough.
func each(t *testing.T, n int, f func(t *testing.T, i int) (more bool)) {
	t.Helper()
	var next atomic.Int64
	var enough atomic.Bool
	t.Run("worlds", func(t *testing.T) {
		for w := range min(runtime.GOMAXPROCS(0), n) {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for i := int(next.Add(1)) - 1; i < n && !enough.Load(); i = int(next.Add(1)) - 1 {
					if !f(t, i) {
						enough.Store(true)
					}
				}
			})
		}
	})
}

// report fails the test with what broke a promise in a world, and how to see it
// again. rerun runs the world with some of its troubles, known by number.
func report(t *testing.T, test string, r result, rerun func([]int) result) {
	t.Helper()
	all := make([]int, len(r.params.troubles))
	for i := range all {
		all[i] = i
	}
	if *only != "all" {
		t.Error(story(r, test, all))
		return
	}
	needed, small := shrink(r, all, rerun)
	t.Error(story(small, test, needed))
}

// shrink takes troubles away as long as a promise is broken without them.
func shrink(r result, troubles []int, rerun func([]int) result) ([]int, result) {
	for i := 0; i < len(troubles); {
		fewer := slices.Delete(slices.Clone(troubles), i, i+1)
		if s := rerun(fewer); len(s.violations) > 0 {
			troubles, r = fewer, s
		} else {
			i++
		}
	}
	return troubles, r
}

// Of a long story the end is told.
const (
	mostViolations = 5
	mostEvents     = 60
)

func story(r result, test string, troubles []int) string {
	var b strings.Builder
	for _, v := range r.violations[:min(len(r.violations), mostViolations)] {
		fmt.Fprintf(&b, "broken: %v\n", v)
	}
	fmt.Fprintf(&b, "in %v\n", r.params)
	events := r.record.Events
	if len(r.violations) > 0 {
		end, _ := slices.BinarySearchFunc(events, r.violations[0].At, func(e sim.Event, at time.Duration) int {
			if e.At <= at {
				return -1
			}
			return 1
		})
		events = events[:end]
	}
	from := max(0, len(events)-mostEvents)
	fmt.Fprintf(&b, "the last %d of %d events before that:\n", len(events)-from, len(events))
	for _, e := range events[from:] {
		fmt.Fprintln(&b, e)
	}
	fmt.Fprintf(&b, "again:\n  %s\n", replay(test, r.params.seed, troubles))
	return b.String()
}
