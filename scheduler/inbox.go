package scheduler

import (
	"sync"
	"time"
)

// A progress is what an attempt tells the loop.
type progress struct {
	ticket  *ticket // of the attempt; the reporter fills it in
	phase   phase
	since   time.Time // of phase overdue
	holder  string    // of phase watching
	blocked *blocked  // of phase blocking; nil: nobody, as far as is known

	catchesUp bool       // of phase asking
	run       *execution // of phase won
	left      remains    // of phase over

	answer chan answer // of phases asking and queuing; has room for it
}

// An answer is what the loop says to an attempt that asks.
type answer struct {
	behind *execution // the run that is in its way; nil: none
	line   inLine
}

type phase uint8

const (
	asking   phase = iota // may it try to claim?
	watching              // another replica runs the tick
	blocking              // it was told who keeps it out
	queuing               // it has claimed, and wants a slot of its group
	won                   // the function is about to be called
	overdue               // the function ignores its ended context
	over                  // decided without a run, or the run has ended
)

// An inbox keeps what attempts report until the loop takes it. Nobody waits to
// put something in, however busy the loop is: each attempt reports a few times.
type inbox struct {
	some chan struct{} // holds one element when something was put into the empty inbox

	mu     sync.Mutex
	list   []progress
	closed bool // the loop has ended
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

// put adds p. It returns false if nobody will take it.
func (b *inbox) put(p progress) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.list = append(b.list, p)
	if len(b.list) == 1 {
		select {
		case b.some <- struct{}{}:
		default: // the loop has not come yet for what it took in passing
		}
	}
	return true
}

// mostSpare is how large an inbox stays when it is empty.
const mostSpare = 4096

// take empties the inbox. Spare, which may be overwritten, is filled next.
func (b *inbox) take(spare []progress) []progress {
	clear(spare)
	if cap(spare) > mostSpare {
		spare = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = spare[:0]
	return list
}

// close drops what is in the inbox, and what comes.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.list = true, nil
}
