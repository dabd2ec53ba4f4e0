package scheduler

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

const (
	deskTimeout = 5 * time.Second  // for one reading of the acts, or one settlement
	settleEvery = 30 * time.Second // between two tries to settle a request
	closingTime = 2 * time.Second  // for settlements at the end of Run
)

// A desk reads open requests periodically, passes them to the loop, and stores their
// results. It has its own goroutine.
type desk struct {
	cfg    Config
	clock  clocks
	opened chan acts.Open
	done   <-chan struct{} // closed when the loop has ended

	mu   sync.Mutex
	todo map[string]*settlement // by the id of the act
	more chan struct{}          // holds one element after something was added
}

func newDesk(s *Scheduler) *desk {
	return &desk{
		cfg: s.cfg, clock: s.clock, done: s.done, opened: make(chan acts.Open),
		todo: map[string]*settlement{}, more: make(chan struct{}, 1),
	}
}

// run works until the loop has ended, and then settles what it can.
func (d *desk) run(ctx context.Context) {
	if d.cfg.Acts == nil {
		return
	}
	for d.read(ctx) {
		d.settle(ctx)
		d.wait()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	d.settle(ctx)
}

// read passes the acts to the loop. It returns false when that has ended. Without an answer
// the loop keeps the acts that it has.
func (d *desk) read(ctx context.Context) bool {
	select {
	case <-d.done:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, deskTimeout)
	defer cancel()
	open, err := d.cfg.Acts.Open(ctx)
	if err != nil {
		return true
	}
	select {
	case d.opened <- open:
		return true
	case <-d.done:
		return false
	}
}

// wait waits about ActsEvery, at random, so replicas do not all ask at once, or until there
// is something to settle. The default keeps it below two seconds, which the commands promise.
func (d *desk) wait() {
	every := d.cfg.ActsEvery
	timer := time.NewTimer(every - every/8 + rand.N(every/4))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.more:
	case <-d.done:
	}
}

// add queues a settlement. Any goroutine may call it.
func (d *desk) add(s settlement) {
	d.mu.Lock()
	if have := d.todo[s.act.ID]; have != nil && s.why.IsZero() {
		s.why = have.why
	}
	d.todo[s.act.ID] = &s
	d.mu.Unlock()
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// forget drops settlements of requests that are no longer open.
func (d *desk) forget(open map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	forget(d.todo, open)
}

func (d *desk) settle(ctx context.Context) {
	for _, s := range d.due() {
		d.try(ctx, s)
	}
}

// due returns the settlements to try now, and postpones each.
func (d *desk) due() []*settlement {
	d.mu.Lock()
	defer d.mu.Unlock()
	var due []*settlement
	now := d.clock.wall()
	for _, s := range d.todo {
		if !s.next.After(now) {
			s.next = now.Add(settleEvery/2 + rand.N(settleEvery))
			due = append(due, s)
		}
	}
	return due
}

func (d *desk) try(ctx context.Context, s *settlement) {
	ctx, cancel := context.WithTimeout(ctx, deskTimeout)
	defer cancel()
	result, err := s.result(ctx, d.cfg, d.clock.wall())
	if err != nil || result == "" || d.cfg.Acts.Close(ctx, s.act.ID, result) != nil {
		return // later
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.todo[s.act.ID] == s {
		delete(d.todo, s.act.ID)
	}
}
