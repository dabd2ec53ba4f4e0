package ledger

import (
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Ledger is a [ledger.Store] and more on a consistent store. It may be used by many
// goroutines. If the store does not answer, the error of every method matches
// locking.ErrNoQuorum.
type Ledger struct {
	access
	grace time.Duration
	keep  int // of the ticks of a job that did not run, and of its runs

	added  counts
	memory atomic.Pointer[time.Time] // since when the store remembers; nil: unknown
}

// New returns the ledger on s. Recorded ticks may be ahead of the store's clock by half the
// grace, which is that of the locks.
func New(s kv.Store, grace time.Duration) *Ledger {
	return &Ledger{access: access{store: s}, grace: grace, keep: ledger.MaxKeep}
}

// RemembersSince implements [ledger.Rememberer]. The store has what was stored in its life,
// which began then at the latest, as the last listing has shown.
func (l *Ledger) RemembersSince() (time.Time, bool) {
	if since := l.memory.Load(); since != nil {
		return *since, true
	}
	return time.Time{}, false
}

// remember stores since when the store remembers, by the local clock.
func (l *Ledger) remember(record kv.Record, s kv.Stamp) {
	life, ok := decoded[records.Life](l.access, record)
	if !ok {
		return // claims are refused, and the checks say why
	}
	var since time.Time // always
	if life, _ = life.Now(s, l.grace); life.Since != 0 {
		since = time.Now().Round(0).Add(time.UnixMilli(life.Since).Sub(s.At()))
	}
	l.memory.Store(&since)
}

var (
	_ ledger.Rememberer = (*Ledger)(nil)
	_ ledger.Skimmer    = (*Ledger)(nil)
	_ ledger.Archive    = (*Ledger)(nil)
)
