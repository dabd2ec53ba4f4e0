package cells

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/quorate/quorate/scheduler"
)

// Acts are kept in the cell of their job, and pauses of tags and of all jobs in
// every cell. Make one with NewActs.
type Acts struct {
	layout Layout
	cells  []scheduler.Acts

	mu   sync.Mutex
	last []scheduler.OpenActs // what each cell said last
}

// NewActs returns the acts over those of the cells, in the order of layout.
func NewActs(layout Layout, cells []scheduler.Acts) *Acts {
	return &Acts{layout: layout, cells: cells, last: make([]scheduler.OpenActs, len(cells))}
}

// Do implements [scheduler.Acts]. An act on a tag or on all jobs that some cells
// did not take is in force in the others, and the error is a
// *scheduler.PartialError: ask again when they have a quorum.
func (a *Acts) Do(ctx context.Context, act scheduler.Act) (scheduler.Act, error) {
	act, err := act.Ready()
	if err != nil {
		return scheduler.Act{}, err
	}
	if act.Job != "" {
		return a.cells[a.layout.Of(act.Job)].Do(ctx, act)
	}
	done, err := ask(a.layout, a.cells, func(c scheduler.Acts) (scheduler.Act, error) { return c.Do(ctx, act) })
	if err != nil {
		return scheduler.Act{}, err
	}
	return done[0], nil
}

// Open implements [scheduler.Acts]. Of a cell that does not answer it has what
// that said last.
func (a *Acts) Open(ctx context.Context) (scheduler.OpenActs, error) {
	open, errs := make([]scheduler.OpenActs, len(a.cells)), make([]error, len(a.cells))
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
	return a.merge(), judge(a.layout, errs)
}

// merge puts together what the cells said last.
func (a *Acts) merge() scheduler.OpenActs {
	var all scheduler.OpenActs
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
	for _, list := range [][]scheduler.Act{all.Pauses, all.Requests, all.Expired} {
		scheduler.SortActs(list)
	}
	return all
}

// own returns the acts on jobs of the cell: others are from before the layout was
// changed.
func (a *Acts) own(cell int, acts []scheduler.Act) []scheduler.Act {
	return slices.DeleteFunc(slices.Clone(acts), func(act scheduler.Act) bool {
		return act.Job == "" || a.layout.Of(act.Job) != cell
	})
}

// Close implements [scheduler.Acts].
func (a *Acts) Close(ctx context.Context, id, result string) error {
	if i := a.keeper(id); i >= 0 {
		return a.cells[i].Close(ctx, id, result)
	}
	return tell(a.layout, a.cells, func(c scheduler.Acts) error { return c.Close(ctx, id, result) })
}

// keeper is the cell that had the request when it was asked last, -1 if none had.
func (a *Acts) keeper(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.IndexFunc(a.last, func(open scheduler.OpenActs) bool {
		return slices.ContainsFunc(slices.Concat(open.Requests, open.Expired), func(act scheduler.Act) bool { return act.ID == id })
	})
}

// Note implements [scheduler.Notebook]. It is in the cell of the job, or in any that
// takes it.
func (a *Acts) Note(ctx context.Context, act scheduler.Act) error {
	list := a.cells
	if act.Job != "" {
		list = list[a.layout.Of(act.Job):][:1]
	}
	var errs []error
	for _, c := range list {
		book, ok := c.(scheduler.Notebook)
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

// Audit implements [scheduler.Acts].
func (a *Acts) Audit(ctx context.Context, limit int) ([]scheduler.Act, error) {
	logs, err := ask(a.layout, a.cells, func(c scheduler.Acts) ([]scheduler.Act, error) { return c.Audit(ctx, limit) })
	var list []scheduler.Act
	seen := map[string]bool{}
	for _, act := range slices.Concat(logs...) {
		if !seen[act.ID] {
			list = append(list, act)
		}
		seen[act.ID] = true
	}
	scheduler.SortActs(list)
	slices.Reverse(list)
	return list[:min(len(list), limit)], err
}

var (
	_ scheduler.Acts     = (*Acts)(nil)
	_ scheduler.Notebook = (*Acts)(nil)
)
