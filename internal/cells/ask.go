package cells

import (
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/scheduler/ledger"
)

// ask calls f for all cells at once and returns their answers. The error is a
// *ledger.PartialError if some cells failed, or all errors joined if all did.
func ask[C, A any](l Layout, cells []C, f func(C) (A, error)) ([]A, error) {
	answers, errs := make([]A, len(cells)), make([]error, len(cells))
	var asking sync.WaitGroup
	for i, c := range cells {
		asking.Go(func() { answers[i], errs[i] = f(c) })
	}
	asking.Wait()
	return answers, joinErrors(l, errs)
}

// callAll is ask without answers.
func callAll[C any](l Layout, cells []C, f func(C) error) error {
	_, err := ask(l, cells, func(c C) (struct{}, error) { return struct{}{}, f(c) })
	return err
}

// joinErrors combines the errors of the cells.
func joinErrors(l Layout, errs []error) error {
	var all []error
	failed := make([]bool, len(errs))
	for i, err := range errs {
		if err != nil {
			failed[i] = true
			all = append(all, fmt.Errorf("cell %s: %w", l[i], err))
		}
	}
	switch err := errors.Join(all...); {
	case err == nil:
		return nil
	case len(all) == len(errs):
		return err
	default:
		return &ledger.PartialError{Err: err, Lacks: func(key string) bool { return failed[l.Of(key)] }}
	}
}
