package scheduler

import (
	"sync"
	"time"
)

// quickly is how long a call takes that nobody needs to watch.
const quickly = 10 * time.Millisecond

// stopped is how late a timer is seldom on a machine that is merely busy.
const stopped = time.Second

// A watch finds the calls that last. Most do not, and cost it no timer and no
// goroutine.
type watch struct {
	mu    sync.Mutex
	timer *time.Timer // nil before the first call
	looks bool        // the timer runs
	fresh []*call     // begun since it last looked
	older []*call     // begun in the time before
	at    time.Time   // when it looks next, by the wall clock
}

// begin looks at c after quickly, or up to twice as long.
func (w *watch) begin(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = append(w.fresh, c)
	switch {
	case w.looks:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(quickly, w.look)
	default:
		w.timer.Reset(quickly)
	}
	w.looks, w.at = true, systemClock().Add(quickly)
}

// look tells the calls that go on that they last.
func (w *watch) look() {
	for _, c := range w.next() {
		c.last()
	}
}

// next returns the calls that have had their time, of which most are over: all, if
// it looks so late that the process must have been stopped.
func (w *watch) next() []*call {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, due := systemClock(), w.older
	w.older, w.fresh = w.fresh, nil
	if now.Sub(w.at) > stopped {
		due, w.older = append(due, w.older...), nil
	}
	if w.looks = len(w.older) > 0; w.looks {
		w.timer.Reset(quickly)
		w.at = now.Add(quickly)
	}
	return due
}

// stop is for when there are no calls any more. A look under way sets no timer then.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh, w.older = nil, nil
	if w.timer != nil {
		w.timer.Stop()
	}
}
