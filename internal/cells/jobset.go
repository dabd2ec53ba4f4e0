package cells

import (
	"context"
	"errors"
	"slices"

	"github.com/quorate/quorate/scheduler"
)

// JobSets are stored in all cells, whichever jobs are in them. One cell that answers is
// enough to read one.
type JobSets struct {
	Layout Layout
	// Cells are those of the cells, in the order of Layout.
	Cells []scheduler.JobSets
}

// RenewSet implements [scheduler.JobSets].
func (s *JobSets) RenewSet(ctx context.Context, hash string) (bool, error) {
	kept, err := ask(s.Layout, s.Cells, func(c scheduler.JobSets) (bool, error) { return c.RenewSet(ctx, hash) })
	return !slices.Contains(kept, false), err
}

// KeepSet implements [scheduler.JobSets].
func (s *JobSets) KeepSet(ctx context.Context, hash string, packed []byte) error {
	return callAll(s.Layout, s.Cells, func(c scheduler.JobSets) error { return c.KeepSet(ctx, hash, packed) })
}

// JobSet implements [scheduler.JobSets].
func (s *JobSets) JobSet(ctx context.Context, hash string) ([]byte, error) {
	var errs []error
	for _, c := range s.Cells {
		packed, err := c.JobSet(ctx, hash)
		if err == nil {
			return packed, nil
		}
		if !errors.Is(err, scheduler.ErrNoJobSet) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return nil, scheduler.ErrNoJobSet
}

var _ scheduler.JobSets = (*JobSets)(nil)
