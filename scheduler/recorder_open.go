package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// unrecorded are ticks of a job's schedule that the ledger does not have yet: so many, none
// of them before since. Those that it never will have stay among them.
type unrecorded struct {
	n     int
	since time.Time
}

// opened notes a tick that is to be recorded. The caller holds the lock.
func (r *recorder) opened(key string, e ledger.Entry) {
	if e.Stream != "" {
		return
	}
	open := r.open[key]
	if open.n++; open.n == 1 || e.Tick.Before(open.since) {
		open.since = e.Tick
	}
	r.open[key] = open
}

// recorded notes that the ledger has d.
func (r *recorder) recorded(d decision) {
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

// reduce takes back what the ledger does not have yet.
func (r recorders) reduce(a accounts) accounts {
	for _, part := range r.parts {
		part.mu.Lock()
		for key, open := range part.open {
			if until, ok := a.until[key]; ok && open.since.Before(until) {
				a.until[key] = open.since
			}
		}
		part.mu.Unlock()
	}
	return a
}
