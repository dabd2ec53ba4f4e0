package scheduler

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

const (
	deskTimeout = 5 * time.Second  // one reading of the acts, one settlement
	settleEvery = 30 * time.Second // between looks at what a request has come to
	closingTime = 2 * time.Second  // what Run spends on settlements at its end
)

// A desk asks again and again what was asked of the cluster, hands it to the
// loop, and notes what became of it. It has a goroutine of its own.
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

// run works until the loop has ended, and then settles what it still can.
func (d *desk) run(ctx context.Context) {
	if d.cfg.Acts == nil {
		return
	}
	for d.look(ctx) {
		d.settle(ctx)
		d.wait()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	d.settle(ctx)
}

// look reads the acts and hands them to the loop. It returns false when that has
// ended. Without an answer the loop keeps the picture it has.
func (d *desk) look(ctx context.Context) bool {
	select {
	case <-d.done:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, deskTimeout)
	defer cancel()
	open, err := d.cfg.Acts.Open(ctx)
	if whole(err) != nil {
		return true
	}
	select {
	case d.opened <- open:
		return true
	case <-d.done:
		return false
	}
}

// wait waits about ActsEvery, so that the replicas do not ask all at once, or
// until there is something to settle.
func (d *desk) wait() {
	every := d.cfg.ActsEvery
	timer := time.NewTimer(every/2 + rand.N(every))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.more:
	case <-d.done:
	}
}

// add asks for an act to be settled. Any goroutine may call it.
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

// forget drops settlements of requests that are open no more.
func (d *desk) forget(open map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	forget(d.todo, open)
}

// settle tries to settle what is due.
func (d *desk) settle(ctx context.Context) {
	for _, s := range d.due() {
		d.try(ctx, s)
	}
}

// due returns the settlements to try now, and puts each off.
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
		return // the next time
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.todo[s.act.ID] == s {
		delete(d.todo, s.act.ID)
	}
}
