package scheduler

import (
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// A ticket is the loop's state of an attempt. Only the loop uses it.
type ticket struct {
	*attempt.Brief
	owner *jobState
	lane  *lane
	run   *attempt.Run // once the tick is won; the loop reads only fields that no longer change

	overdue   time.Time        // when the function began to ignore its ended context
	passed    bool             // later is closed
	catchesUp bool             // it caught up from its start, and nobody began the tick before
	watches   bool             // another replica ran or runs the tick
	holder    *attempt.Blocked // that replica; nil: the store does not say any more
	unheard   job.Verdict      // on later ticks then
}

// A reporter reports the attempt's progress to the loop.
type reporter struct {
	ticket *ticket
	inbox  *inbox
	done   <-chan struct{} // closed when the loop has ended
}

// Report sends p to the loop. It returns false if the loop has ended.
func (r reporter) Report(p attempt.Progress) bool {
	return r.inbox.put(message{ticket: r.ticket, Progress: p})
}

// Consult sends p to the loop and waits for the answer. It returns false if the loop has
// ended.
func (r reporter) Consult(p attempt.Progress) (attempt.Answer, bool) {
	m := message{ticket: r.ticket, Progress: p, answer: make(chan attempt.Answer, 1)}
	if !r.inbox.put(m) {
		return attempt.Answer{}, false
	}
	select {
	case a := <-m.answer:
		return a, true
	case <-r.done:
		return attempt.Answer{}, false
	}
}

// A message is a report of an attempt to the loop, and where it wants the answer.
type message struct {
	ticket *ticket // of the attempt
	attempt.Progress
	answer chan attempt.Answer // of phases asking and queuing; has room for it
}

// An inbox holds the attempts' reports until the loop takes them. It has no limit, so no
// attempt waits for a busy loop: each reports a few times.
type inbox struct {
	some chan struct{} // holds one element when the empty inbox got a report

	mu     sync.Mutex
	list   []message
	closed bool // the loop has ended
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

// put adds m. It returns false if the loop has ended.
func (b *inbox) put(m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.list = append(b.list, m)
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
func (b *inbox) take(spare []message) []message {
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
