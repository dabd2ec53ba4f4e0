package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorate/quorate/internal/mask"
	"github.com/quorate/quorate/locking/fence"
)

// guarded calls h so that what it logs and returns, and what observers of refused writes are
// told, hides the secrets. Functions that cut texts find m in their context.
func guarded(ctx context.Context, m *mask.Mask, run Run, h Handler) error {
	if m == nil {
		return recovered(func() error { return h(ctx, run) })
	}
	ctx = mask.Into(fence.WithObserver(ctx, func(e *fence.StaleError) { e.Resource = m.Text(e.Resource) }), m)
	run.Logger = m.Logger(run.Logger)
	return masked(m, recovered(func() error { return h(ctx, run) }))
}

// masked returns err with texts that hide the secrets.
func masked(m *mask.Mask, err error) error {
	if err == nil {
		return nil
	}
	if skip, ok := errors.AsType[*SkipError](err); ok {
		return Skip(m.Text(skip.Reason))
	}
	text, stack := m.Text(err.Error()), ""
	if crash, ok := errors.AsType[*PanicError](err); ok {
		stack = string(crash.Stack)
	}
	if text == err.Error() && m.Text(stack) == stack {
		return err
	}
	return &maskedError{err, text, m}
}

type maskedError struct {
	err  error
	text string
	mask *mask.Mask
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// As finds a panic without the secrets in its value and stack.
func (e *maskedError) As(target any) bool {
	to, wanted := target.(**PanicError)
	crash, ok := errors.AsType[*PanicError](e.err)
	if !wanted || !ok {
		return false
	}
	*to = &PanicError{Value: e.mask.Text(fmt.Sprint(crash.Value)), Stack: []byte(e.mask.Text(string(crash.Stack))), where: crash.where}
	return true
}
