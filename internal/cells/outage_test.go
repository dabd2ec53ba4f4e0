package cells_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/cells"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func (o *outage) check() error {
	if o.down {
		return fmt.Errorf("%w: 1 of 3", locking.ErrNoQuorum)
	}
	return nil
}

func (o *outage) Do(ctx context.Context, act acts.Act) (acts.Act, error) {
	if err := o.check(); err != nil {
		return acts.Act{}, err
	}
	return o.Store.Do(ctx, act)
}

func (o *outage) Open(ctx context.Context) (acts.Open, error) {
	if err := o.check(); err != nil {
		return acts.Open{}, err
	}
	return o.Store.Open(ctx)
}

func (o *outage) Close(ctx context.Context, id, result string) error {
	return errors.Join(o.check(), o.Store.Close(ctx, id, result))
}

func (o *outage) Note(ctx context.Context, act acts.Act) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.Store.(acts.Notebook).Note(ctx, act)
}

// wantPartial checks that err lacks exactly the jobs of the cells.
func wantPartial(t *testing.T, what string, err error, down ...bool) {
	t.Helper()
	partial, ok := errors.AsType[*ledger.PartialError](err)
	if !ok || !errors.Is(err, locking.ErrNoQuorum) {
		t.Fatalf("%s: %v, want a part", what, err)
	}
	for cell, lacks := range down {
		if got := partial.Lacks(jobIn(cell, 0)); got != lacks {
			t.Errorf("%s: lacks jobs of cell %s: %v", what, layout[cell], got)
		}
	}
}

// While one cell has no quorum, acts on the others continue.
func TestActsDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, cell := memoryActs()
		do := func(act acts.Act) error { _, err := store.Do(t.Context(), act); return err }
		trigger := func(id string, in int) acts.Act {
			return acts.Act{ID: id, Kind: acts.Trigger, Job: jobIn(in, 0), By: "ann", Reason: "try"}
		}
		if err := errors.Join(do(trigger("t0", 0)), do(trigger("t2", 2))); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		cell[2].down = true
		open, err := store.Open(t.Context())
		wantPartial(t, "Open", err, false, false, true)
		if len(open.Requests) != 2 {
			t.Errorf("the request in the cell that is away was dropped: %+v", open.Requests)
		}
		if err := store.Close(t.Context(), "t0", "succeeded"); err != nil {
			t.Errorf("closing a request of another cell: %v", err)
		}
		if err := do(trigger("more", 2)); !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("triggering a job of the cell that is away: %v", err)
		}
		err = do(acts.Act{ID: "p", Kind: acts.Pause, All: true, By: "ann", Reason: "all"})
		wantPartial(t, "pausing all", err, false, false, true)
		cell[2].down = false
		if open, err = store.Open(t.Context()); err != nil || len(open.Pauses) != 1 {
			t.Fatalf("Open = %+v, %v", open, err)
		}
		for in, want := range []bool{true, true, false} {
			job := scheduler.JobInfo{Name: "renamed", Key: jobIn(in, 1)}
			if got := job.PausedBy(open.Pauses) != ""; got != want {
				t.Errorf("a job of cell %s is paused: %v, want %v", layout[in], got, want)
			}
		}
		if err := do(acts.Act{ID: "p2", Kind: acts.Pause, All: true, By: "ann", Reason: "again"}); err != nil {
			t.Fatal(err)
		}
		if open, err = store.Open(t.Context()); err != nil || len(open.Pauses) != 1 || open.Pauses[0].Covers != nil {
			t.Errorf("asked again, Open = %+v, %v; want one pause of all", open.Pauses, err)
		}
		for _, o := range cell {
			o.down = true
		}
		if _, err := store.Open(t.Context()); err == nil || errors.As(err, new(*ledger.PartialError)) {
			t.Errorf("all cells are away, and Open says %v", err)
		}
	})
}

// lost is a roster without a quorum.
type lost struct{ scheduler.Roster }

func (lost) Beat(context.Context, scheduler.Replica) ([]scheduler.Replica, error) {
	return nil, locking.ErrNoQuorum
}

func (lost) Jobs(context.Context) ([]scheduler.JobInfo, error)     { return nil, locking.ErrNoQuorum }
func (lost) Publish(context.Context, []scheduler.JobInfo) error    { return locking.ErrNoQuorum }
func (lost) Replicas(context.Context) ([]scheduler.Replica, error) { return nil, locking.ErrNoQuorum }
func (lost) Unpublish(context.Context, []scheduler.JobInfo) error  { return locking.ErrNoQuorum }
func (lost) Leave(context.Context, string) error                   { return locking.ErrNoQuorum }

func TestRosterDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		whole, part := &cells.Roster{Layout: layout}, &cells.Roster{Layout: layout}
		for i := range layout {
			r := new(schedtest.Roster)
			whole.Cells = append(whole.Cells, r)
			if part.Cells = append(part.Cells, r); i == 1 {
				part.Cells[i] = lost{}
			}
		}
		if _, err := whole.Beat(t.Context(), scheduler.Replica{ID: "b"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		live, err := part.Beat(t.Context(), scheduler.Replica{ID: "a"})
		wantPartial(t, "Beat", err, false, true, false)
		if len(live) != 2 || live[0].ID != "a" || live[1].ID != "b" {
			t.Errorf("Beat lists %+v", live)
		}
		// The one cell that a sees is one of those that b cannot reach.
		if live, err = whole.Replicas(t.Context()); err != nil || len(live) != 2 {
			t.Errorf("Replicas = %+v, %v", live, err)
		}
		published := []scheduler.JobInfo{{Name: jobIn(0, 0)}, {Name: "new-name", Key: jobIn(1, 0)}, {Name: jobIn(2, 0)}}
		wantPartial(t, "Publish", part.Publish(t.Context(), published), false, true, false)
		if err := part.Publish(t.Context(), published[:1]); err != nil {
			t.Errorf("publishing jobs of the other cells: %v", err)
		}
		list, err := part.Jobs(t.Context())
		wantPartial(t, "Jobs", err, false, true, false)
		if len(list) != 2 {
			t.Errorf("Jobs = %+v", list)
		}
		// Data that another layout left in a cell is none of its jobs.
		if err := whole.Cells[0].Publish(t.Context(), []scheduler.JobInfo{{Name: jobIn(2, 3)}}); err != nil {
			t.Fatal(err)
		}
		if again, err := whole.Jobs(t.Context()); err != nil || len(again) != 2 {
			t.Errorf("Jobs = %+v, %v", again, err)
		}
	})
}
