package scheduler

import (
	"sync"
	"time"
)

// A progress is a report of an attempt to the loop.
type progress struct {
	ticket  *ticket // of the attempt; the reporter fills it in
	phase   phase
	since   time.Time // of phase overdue
	holder  string    // of phase watching
	blocked *blocked  // of phase blocking; nil: no known run

	catchesUp bool       // of phase asking
	run       *execution // of phase won
	end       attemptEnd // of phase over

	answer chan answer // of phases asking and queuing; has room for it
}

// An answer is the loop's reply to an attempt.
type answer struct {
	behind *execution // the run that blocks it; nil: none
	line   inLine
}

type phase uint8

const (
	asking   phase = iota // may it try to claim?
	watching              // another replica runs the tick
	blocking              // it has learned which run blocks it
	queuing               // it has claimed, and waits for a slot of its group
	won                   // the function is about to be called
	overdue               // the function ignores its ended context
	over                  // decided without a run, or the run has ended
)

// An inbox holds the attempts' reports until the loop takes them. It has no limit, so no
// attempt waits for a busy loop: each reports a few times.
type inbox struct {
	some chan struct{} // holds one element when the empty inbox got a report

	mu     sync.Mutex
	list   []progress
	closed bool // the loop has ended
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

// put adds p. It returns false if the loop has ended.
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
		default: // the loop has not received the last signal yet
		}
	}
	return true
}

// maxSpare is the largest capacity that an empty inbox keeps.
const maxSpare = 4096

// take empties the inbox. It reuses spare, which it may overwrite.
func (b *inbox) take(spare []progress) []progress {
	clear(spare)
	if cap(spare) > maxSpare {
		spare = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = spare[:0]
	return list
}

// close drops all reports, now and later.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.list = true, nil
}
