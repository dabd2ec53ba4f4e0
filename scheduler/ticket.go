package scheduler

import (
	"context"
	"sync/atomic"
	"time"
)

// A brief is what an attempt begins with, and later signals of the loop. Both share it.
type brief struct {
	job   *Job // as it was when the attempt began
	tick  tick
	rank  int // of this replica for the tick, from 0
	crowd int // known replicas that may run the job

	// The contexts of the pauses between tries to claim, and of the run. The loop or the
	// drain may end them.
	waits, runs         context.Context
	stopWaiting, cancel context.CancelCauseFunc

	later chan struct{} // closed when the next tick of the schedule comes
	ended chan struct{} // closed when the attempt is over
	// Another run of the job has begun here since the attempt waits for a turn.
	runBegan atomic.Bool
}

// A ticket is the loop's state of an attempt. Only the loop uses it.
type ticket struct {
	*brief
	owner *job
	lane  *lane
	run   *execution // once the tick is won; the loop reads only fields that no longer change

	overdue   time.Time // when the function began to ignore its ended context
	passed    bool      // later is closed
	catchesUp bool      // it caught up from its start, and nobody began the tick before
	watches   bool      // holder, another replica, ran or runs the tick
	holder    string
}

// A reporter reports the attempt's progress to the loop.
type reporter struct {
	ticket *ticket
	inbox  *inbox
	done   <-chan struct{} // closed when the loop has ended
}

// report sends p to the loop. It returns false if the loop has ended.
func (r reporter) report(p progress) bool {
	p.ticket = r.ticket
	return r.inbox.put(p)
}

// consult sends p to the loop and waits for the answer. It returns false if the loop has
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
