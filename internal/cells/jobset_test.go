package cells_test

import (
	"errors"
	"testing"

	"github.com/quorate/quorate/internal/cells"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// Sets are on every cell, and read from any.
func TestJobSetsOfCells(t *testing.T) {
	t.Parallel()
	north, south := new(schedtest.Roster), new(schedtest.Roster)
	s := &cells.JobSets{Layout: cells.Layout{"north", "south"}, Cells: []scheduler.JobSets{north, south}}
	if _, err := s.JobSet(t.Context(), "c1"); !errors.Is(err, scheduler.ErrNoJobSet) {
		t.Fatalf("a set that nobody has kept: %v", err)
	}
	if err := south.KeepSet(t.Context(), "c1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.JobSet(t.Context(), "c1"); err != nil || string(got) != "x" {
		t.Errorf("one cell has it: %q, %v", got, err)
	}
	if kept, err := s.RenewSet(t.Context(), "c1"); err != nil || kept {
		t.Errorf("one cell has it: kept is %t, %v", kept, err)
	}
	if err := s.KeepSet(t.Context(), "c1", []byte("y")); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.RenewSet(t.Context(), "c1"); err != nil || !kept {
		t.Errorf("both have it: kept is %t, %v", kept, err)
	}
}
