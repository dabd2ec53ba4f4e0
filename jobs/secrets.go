package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/mask"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/locking/fence"
)

// resolveParams returns params with the references in their strings resolved, and the
// values of those that are secrets.
func resolveParams(params map[string]any, resolve func(string) (string, error)) (map[string]any, []string, error) {
	if resolve == nil {
		return params, nil, nil
	}
	var secrets []string
	tree, err := decode.Map(params, nil, func(v any, path []string) (any, error) {
		s, ok := v.(string)
		if !ok {
			return v, nil
		}
		out, inserted, err := refs.Expand(s, resolve)
		if err != nil {
			return nil, fmt.Errorf("resolving param %s: %w", strings.Join(path, "."), err)
		}
		secrets = append(secrets, inserted...)
		return out, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return tree.(map[string]any), secrets, nil
}

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

// leastWithheld is the length in bytes below which a secret of the replica is not
// masked in what runs log: a short one is part of too many words.
const leastWithheld = 8

// withheldFor is how long secrets of the replica are taken to be as they were read.
const withheldFor = 5 * time.Second

// Withheld are the secrets of the replica itself, such as the password of its nodes:
// runs do not need them. Its Middleware keeps them from all jobs.
type Withheld struct {
	// Variables are those of the environment that hold secrets. Run.Environ leaves
	// them out.
	Variables []string
	// Values, if set, returns the secrets as they are now. Those of 8 bytes and more
	// are masked in what runs log and in their errors. It is called every few
	// seconds while jobs run.
	Values func() []string

	mu     sync.Mutex
	values []string // that mask hides
	mask   *mask.Mask
	read   time.Time
}

// Middleware hides the secrets in what a run logs, in its error and in its Environ.
func (w *Withheld) Middleware(next Handler) Handler {
	return func(ctx context.Context, run Run) error {
		if run.Logger == nil {
			run.Logger = slog.New(slog.DiscardHandler)
		}
		run.withheld = w
		return guarded(ctx, mask.From(ctx).And(w.current()), run, next)
	}
}

// current is the mask for the secrets as they were read lately.
func (w *Withheld) current() *mask.Mask {
	if w.Values == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.read.IsZero() || now.Sub(w.read) > withheldFor {
		w.read = now
		if values := w.Values(); !slices.Equal(values, w.values) {
			w.values, w.mask = values, mask.New(values, leastWithheld)
		}
	}
	return w.mask
}

// Environ is the environment of the process for commands that the run starts: without
// the settings of the replica (QUORATE_*), and without variables that hold secrets of
// its configuration.
func (r Run) Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "QUORATE_") || r.withheld != nil && slices.Contains(r.withheld.Variables, name)
	})
}
