package recorder

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// unrecorded counts scheduled ticks of a job that the ledger does not have yet, none before
// since. Those that it never will have stay counted.
type unrecorded struct {
	n     int
	since time.Time
}

// opened counts a tick that is to be recorded. The caller holds the lock.
func (r *Recorder) opened(key string, e ledger.Entry) {
	if e.Stream != "" {
		return
	}
	open := r.open[key]
	if open.n++; open.n == 1 || e.Tick.Before(open.since) {
		open.since = e.Tick
	}
	r.open[key] = open
}

// recorded removes d from the count.
func (r *Recorder) recorded(d decision) {
	if d.Stream != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	open := r.open[d.key]
	if open.n--; open.n <= 0 {
		delete(r.open, d.key)
		return
	}
	r.open[d.key] = open
}

// Reduce limits the accounts to what the ledger has.
func (r *Recorder) Reduce(a roster.Accounts) roster.Accounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, open := range r.open {
		if until, ok := a.Until[key]; ok && open.since.Before(until) {
			a.Until[key] = open.since
		}
	}
	return a
}
