package cells

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/quorate/quorate/scheduler/acts"
)

// Acts are kept in the cell of their job; pauses of tags and of all jobs in every cell.
// Create it with NewActs.
type Acts struct {
	layout Layout
	cells  []acts.Store

	mu   sync.Mutex
	last []acts.Open // the last answer of each cell
}

// NewActs returns Acts over those of the cells, in the order of layout.
func NewActs(layout Layout, cells []acts.Store) *Acts {
	return &Acts{layout: layout, cells: cells, last: make([]acts.Open, len(cells))}
}

// Do implements [acts.Store]. If some cells did not accept an act on a tag or on
// all jobs, it is in force in the others, and the error is a *ledger.PartialError.
// Repeat it when those cells have a quorum.
func (a *Acts) Do(ctx context.Context, act acts.Act) (acts.Act, error) {
	act, err := act.Ready()
	if err != nil {
		return acts.Act{}, err
	}
	if act.Job != "" {
		return a.cells[a.layout.Of(act.Job)].Do(ctx, act)
	}
	done, err := ask(a.layout, a.cells, func(c acts.Store) (acts.Act, error) { return c.Do(ctx, act) })
	if err != nil {
		return acts.Act{}, err
	}
	return done[0], nil
}

// Open implements [acts.Store]. For a cell that does not answer it returns its last
// answer.
func (a *Acts) Open(ctx context.Context) (acts.Open, error) {
	open, errs := make([]acts.Open, len(a.cells)), make([]error, len(a.cells))
	var asking sync.WaitGroup
	for i, c := range a.cells {
		asking.Go(func() { open[i], errs[i] = c.Open(ctx) })
	}
	asking.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, err := range errs {
		if err == nil {
			a.last[i] = open[i]
		}
	}
	return a.merge(), joinErrors(a.layout, errs)
}

// merge combines the last answers of the cells.
func (a *Acts) merge() acts.Open {
	var all acts.Open
	wide := map[string][]int{} // cells that know a pause of many jobs, by its ID
	for i, open := range a.last {
		for _, p := range open.Pauses {
			if p.Job == "" {
				if wide[p.ID] = append(wide[p.ID], i); len(wide[p.ID]) == 1 {
					all.Pauses = append(all.Pauses, p)
				}
			}
		}
		all.Pauses = append(all.Pauses, a.own(i, open.Pauses)...)
		all.Requests = append(all.Requests, a.own(i, open.Requests)...)
		all.Expired = append(all.Expired, a.own(i, open.Expired)...)
	}
	for i, p := range all.Pauses {
		if cells := wide[p.ID]; p.Job == "" && len(cells) < len(a.cells) {
			all.Pauses[i].Covers = func(key string) bool { return slices.Contains(cells, a.layout.Of(key)) }
		}
	}
	for _, list := range [][]acts.Act{all.Pauses, all.Requests, all.Expired} {
		acts.Sort(list)
	}
	return all
}

// own returns the acts on jobs of the cell. Others are older than a change of the
// layout.
func (a *Acts) own(cell int, store []acts.Act) []acts.Act {
	return slices.DeleteFunc(slices.Clone(store), func(act acts.Act) bool {
		return act.Job == "" || a.layout.Of(act.Job) != cell
	})
}

// Close implements [acts.Store].
func (a *Acts) Close(ctx context.Context, id, result string) error {
	if i := a.keeper(id); i >= 0 {
		return a.cells[i].Close(ctx, id, result)
	}
	return callAll(a.layout, a.cells, func(c acts.Store) error { return c.Close(ctx, id, result) })
}

// keeper returns the cell that last had the request, -1 if none had.
func (a *Acts) keeper(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.IndexFunc(a.last, func(open acts.Open) bool {
		return slices.ContainsFunc(slices.Concat(open.Requests, open.Expired), func(act acts.Act) bool { return act.ID == id })
	})
}

// Note implements [acts.Notebook]. It stores the note in the cell of the job, or
// without a job in any cell that accepts it.
func (a *Acts) Note(ctx context.Context, act acts.Act) error {
	list := a.cells
	if act.Job != "" {
		list = list[a.layout.Of(act.Job):][:1]
	}
	var errs []error
	for _, c := range list {
		book, ok := c.(acts.Notebook)
		if !ok {
			continue
		}
		err := book.Note(ctx, act)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Audit implements [acts.Store].
func (a *Acts) Audit(ctx context.Context, limit int) ([]acts.Act, error) {
	logs, err := ask(a.layout, a.cells, func(c acts.Store) ([]acts.Act, error) { return c.Audit(ctx, limit) })
	var list []acts.Act
	seen := map[string]bool{}
	for _, act := range slices.Concat(logs...) {
		if !seen[act.ID] {
			list = append(list, act)
		}
		seen[act.ID] = true
	}
	acts.Sort(list)
	slices.Reverse(list)
	return list[:min(len(list), limit)], err
}

var (
	_ acts.Store    = (*Acts)(nil)
	_ acts.Notebook = (*Acts)(nil)
)
