package jobs

import (
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// leastWithheld is the length in bytes below which a secret of the replica is not
// masked in what runs log: a short one is part of too many words.
const leastWithheld = 8

// withheldFor is how long secrets of the replica are taken to be as they were read.
const withheldFor = 5 * time.Second

// Withheld are the secrets of the replica itself, such as the password of its nodes:
// runs do not need them. Share one among all jobs. Its zero value holds none.
type Withheld struct {
	// Variables are those of the environment that hold secrets. Run.Environ leaves
	// them out.
	Variables []string
	// Values, if set, returns the secrets as they are now. Those of 8 bytes and more
	// are masked in what runs log and in their errors. It is called every few
	// seconds while jobs run.
	Values func() []string

	mu     sync.Mutex
	values []string
	mask   mask
	read   time.Time
}

// masked returns the values as they were read lately, and a mask for them.
func (w *Withheld) masked() ([]string, mask) {
	if w == nil || w.Values == nil {
		return nil, mask{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.read.IsZero() || now.Sub(w.read) > withheldFor {
		w.read = now
		if values := maskable(w.Values(), leastWithheld); w.mask.replace == nil || !slices.Equal(values, w.values) {
			w.values, w.mask = values, newMask(values)
		}
	}
	return w.values, w.mask
}

// maskOf returns the mask for the secrets in a run's params and those of the replica.
func (w *Withheld) maskOf(own []string) mask {
	values, all := w.masked()
	if own = maskable(own, leastSecret); len(own) > 0 {
		return newMask(slices.Concat(own, values))
	}
	return all
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
