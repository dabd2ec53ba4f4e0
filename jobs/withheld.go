package jobs

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/mask"
)

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
