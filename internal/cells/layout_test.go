package cells_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/internal/cells"
)

// Where a job's claims are is a matter of every release that ever runs beside
// another one.
func TestPlacesNeverChange(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nightly-report": "west", "a": "west", "b": "west", "billing.invoices": "east", "heartbeat": "north", "": "north",
		"group:billing:0": "north", "group:billing:12": "north", "group:reports:3": "east",
	} {
		if got := layout[layout.Of(name)]; got != want {
			t.Errorf("%q is in cell %s, and was in %s", name, got, want)
		}
		turned := cells.Layout{"west", "east", "north"}
		if got := turned[turned.Of(name)]; got != want {
			t.Errorf("%q: the order of the cells matters: %s", name, got)
		}
	}
}

func TestCellsShareEvenly(t *testing.T) {
	t.Parallel()
	count := make([]int, len(layout))
	for i := range 30_000 {
		count[layout.Of(fmt.Sprintf("job-%05d", i))]++
	}
	for i, n := range count {
		if n < 9_500 || n > 10_500 {
			t.Errorf("cell %s has %d of 30000 jobs", layout[i], n)
		}
	}
}

// A further cell takes its share from the others, and moves nothing else.
func TestAFurtherCellTakesJobsOnly(t *testing.T) {
	t.Parallel()
	larger := cells.Layout{"east", "north", "south", "west"}
	moved := 0
	for i := range 10_000 {
		name := fmt.Sprintf("job-%05d", i)
		was, is := layout[layout.Of(name)], larger[larger.Of(name)]
		if was != is {
			if moved++; is != "south" {
				t.Fatalf("%s moved from %s to %s", name, was, is)
			}
		}
	}
	if moved < 2_300 || moved > 2_700 {
		t.Errorf("%d of 10000 jobs moved, want a quarter", moved)
	}
}

func TestSlotsOfAGroupAreTogether(t *testing.T) {
	t.Parallel()
	var seen []int
	for i := range 100 {
		group := fmt.Sprintf("group:g%d", i)
		cell := layout.Of(group + ":0")
		for slot := range 20 {
			if got := layout.Of(fmt.Sprint(group, ":", slot)); got != cell {
				t.Errorf("slot %d of %s is in cell %d, slot 0 in %d", slot, group, got, cell)
			}
		}
		seen = append(seen, cell)
	}
	slices.Sort(seen)
	if seen = slices.Compact(seen); len(seen) != len(layout) {
		t.Errorf("all groups are in cells %v", seen)
	}
}

func TestPlacingAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { layout.Of("nightly-report") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
