package scheduler

import (
	"context"
	"sync"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// recorders has a recorder for each part of the ledger, so a part that cannot record does
// not delay the others.
type recorders struct {
	parts []*recorder
	part  func(key string) int
}

func newRecorders(cfg Config) recorders {
	r := recorders{part: func(string) int { return 0 }}
	n := 1
	if d, ok := cfg.Ledger.(ledger.Divided); ok {
		n, r.part = d.Parts(), d.Part
	}
	for range n {
		r.parts = append(r.parts, newRecorder(cfg))
	}
	return r
}

// add queues a decision on j.
func (r recorders) add(j *job.Job, e ledger.Entry) { r.parts[r.part(j.StoredAs())].add(j, e) }

// run runs all recorders.
func (r recorders) run(ctx context.Context) {
	r.each(func(part *recorder) { part.run(ctx) })
}

// flush flushes all recorders.
func (r recorders) flush() { r.each((*recorder).flush) }

// each calls f for all parts at once and waits.
func (r recorders) each(f func(*recorder)) {
	var working sync.WaitGroup
	for _, part := range r.parts {
		working.Go(func() { f(part) })
	}
	working.Wait()
}
