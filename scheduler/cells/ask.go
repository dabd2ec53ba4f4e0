package cells

import (
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/scheduler"
)

// ask asks all cells at once, and returns what each answered, and a
// *scheduler.PartialError if some failed, or all their errors if all did.
func ask[C, A any](l Layout, cells []C, f func(C) (A, error)) ([]A, error) {
	answers, errs := make([]A, len(cells)), make([]error, len(cells))
	var asking sync.WaitGroup
	for i, c := range cells {
		asking.Go(func() { answers[i], errs[i] = f(c) })
	}
	asking.Wait()
	return answers, judge(l, errs)
}

// tell is ask for what has no answer.
func tell[C any](l Layout, cells []C, f func(C) error) error {
	_, err := ask(l, cells, func(c C) (struct{}, error) { return struct{}{}, f(c) })
	return err
}

// judge puts the errors of the cells together.
func judge(l Layout, errs []error) error {
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
		return &scheduler.PartialError{Err: err, Lacks: func(key string) bool { return failed[l.Of(key)] }}
	}
}
