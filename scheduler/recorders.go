package scheduler

import (
	"context"
	"sync"

	"github.com/quorate/quorate/scheduler/ledger"
)

// recorders are a recorder for each part of the ledger, so that one that cannot
// record does not hold up the others.
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

// add queues what was decided of j.
func (r recorders) add(j *Job, e ledger.Entry) { r.parts[r.part(j.key())].add(j, e) }

// run delivers what is added until ctx ends, or flush was called and the queues
// are empty.
func (r recorders) run(ctx context.Context) {
	r.each(func(part *recorder) { part.run(ctx) })
}

// flush lets run deliver what is queued, for a while. Afterwards run's context
// may be ended.
func (r recorders) flush() { r.each((*recorder).flush) }

// each does f for all parts at once and waits.
func (r recorders) each(f func(*recorder)) {
	var working sync.WaitGroup
	for _, part := range r.parts {
		working.Go(func() { f(part) })
	}
	working.Wait()
}
