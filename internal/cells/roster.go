package cells

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler"
)

// A Roster is kept in all cells: a replica is alive if one cell has seen it recently. A
// published job is in its own cell.
type Roster struct {
	Layout Layout
	// Cells are the rosters of the cells, in the order of Layout.
	Cells []scheduler.Roster
}

// Beat implements [scheduler.Roster].
func (r *Roster) Beat(ctx context.Context, self scheduler.Replica) ([]scheduler.Replica, error) {
	seen, err := ask(r.Layout, r.Cells, func(c scheduler.Roster) ([]scheduler.Replica, error) { return c.Beat(ctx, self) })
	return latest(seen), err
}

// Leave implements [scheduler.Roster].
func (r *Roster) Leave(ctx context.Context, id string) error {
	return callAll(r.Layout, r.Cells, func(c scheduler.Roster) error { return c.Leave(ctx, id) })
}

// Replicas implements [scheduler.Roster].
func (r *Roster) Replicas(ctx context.Context) ([]scheduler.Replica, error) {
	seen, err := ask(r.Layout, r.Cells, func(c scheduler.Roster) ([]scheduler.Replica, error) { return c.Replicas(ctx) })
	return latest(seen), err
}

// latest returns the last beat of each replica, sorted by ID.
func latest(seen [][]scheduler.Replica) []scheduler.Replica {
	last := map[string]scheduler.Replica{}
	for _, replica := range slices.Concat(seen...) {
		if have, ok := last[replica.ID]; !ok || replica.Seen.After(have.Seen) {
			last[replica.ID] = replica
		}
	}
	var list []scheduler.Replica
	for _, id := range slices.Sorted(maps.Keys(last)) {
		list = append(list, last[id])
	}
	return list
}

// Publish implements [scheduler.Roster].
func (r *Roster) Publish(ctx context.Context, jobs []scheduler.JobInfo) error {
	return r.toOwn(jobs, func(c scheduler.Roster, own []scheduler.JobInfo) error { return c.Publish(ctx, own) })
}

// Unpublish implements [scheduler.Roster].
func (r *Roster) Unpublish(ctx context.Context, jobs []scheduler.JobInfo) error {
	return r.toOwn(jobs, func(c scheduler.Roster, own []scheduler.JobInfo) error { return c.Unpublish(ctx, own) })
}

// toOwn passes each cell its own jobs.
func (r *Roster) toOwn(jobs []scheduler.JobInfo, f func(scheduler.Roster, []scheduler.JobInfo) error) error {
	type share struct {
		cell scheduler.Roster
		jobs []scheduler.JobInfo
	}
	shares := make([]share, len(r.Cells))
	for i, c := range r.Cells {
		shares[i].cell = c
	}
	for _, j := range jobs {
		own := &shares[r.Layout.Of(j.StoredAs())]
		own.jobs = append(own.jobs, j)
	}
	return callAll(r.Layout, shares, func(s share) error {
		if len(s.jobs) == 0 {
			return nil
		}
		return f(s.cell, s.jobs)
	})
}

// Jobs implements [scheduler.Roster]. It leaves out jobs that a cell stored before the
// layout was changed.
func (r *Roster) Jobs(ctx context.Context) ([]scheduler.JobInfo, error) {
	known, err := ask(r.Layout, r.Cells, func(c scheduler.Roster) ([]scheduler.JobInfo, error) { return c.Jobs(ctx) })
	var list []scheduler.JobInfo
	for i, jobs := range known {
		for _, j := range jobs {
			if r.Layout.Of(j.StoredAs()) == i {
				list = append(list, j)
			}
		}
	}
	slices.SortFunc(list, func(a, b scheduler.JobInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.Published.Compare(a.Published), strings.Compare(a.Hash, b.Hash))
	})
	return list, err
}

var _ scheduler.Roster = (*Roster)(nil)
