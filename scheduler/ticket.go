package scheduler

import (
	"context"
	"sync/atomic"
	"time"
)

// A brief is what an attempt begins with, and what the loop tells it later. The loop and
// the attempt share it.
type brief struct {
	job   *Job // as it was when the attempt began
	tick  tick
	rank  int // of this replica for the tick, from 0
	crowd int // replicas that may run the job, as far as this one knows

	// The contexts of the pauses between the tries to claim, and of the run. The loop
	// may end either, besides the drain.
	waits, runs         context.Context
	stopWaiting, cancel context.CancelCauseFunc

	later chan struct{} // closed when the next tick of the schedule comes
	ended chan struct{} // closed when nothing of the attempt goes on any more
	// A run of the job has begun on this replica since the attempt began to wait for a turn.
	disturbed atomic.Bool
}

// A ticket is what the loop knows of an attempt that goes on. Only the loop uses it.
type ticket struct {
	*brief
	owner *job
	lane  *lane
	run   *execution // once the tick is won; what the loop reads of it never changes then

	overdue   time.Time // since when the function ignores its ended context
	passed    bool      // later is closed
	catchesUp bool      // it catches up its tick since it began, which nobody began before
	watches   bool      // holder, another replica, ran or runs the tick
	holder    string
}

// A reporter tells the loop of the attempt's progress.
type reporter struct {
	ticket *ticket
	inbox  *inbox
	done   <-chan struct{} // closed when the loop has ended
}

// report hands p to the loop. It returns false if the loop has ended.
func (r reporter) report(p progress) bool {
	p.ticket = r.ticket
	return r.inbox.put(p)
}

// consult hands p to the loop and waits for the answer. It returns false if the loop has
// ended.
func (r reporter) consult(p progress) (answer, bool) {
	p.answer = make(chan answer, 1)
	if !r.report(p) {
		return answer{}, false
	}
	select {
	case a := <-p.answer:
		return a, true
	case <-r.done:
		return answer{}, false
	}
}
