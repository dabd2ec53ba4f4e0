package scheduler

import (
	"sync"
	"sync/atomic"
)

// idleHands is how many goroutines of a crew stay when there is nothing to do.
const idleHands = 4 * firesAtOnce

// A crew runs attempts, each in a goroutine that has nothing else to do for as long
// as that takes. Those that are done with one stay for the next, with the stacks
// that they have grown: to begin a goroutine, and to grow its stack, takes longer
// than an ordinary fire.
type crew struct {
	work  chan *attempt // who receives is idle
	idle  atomic.Int64
	hands sync.WaitGroup
}

func newCrew() *crew { return &crew{work: make(chan *attempt)} }

// run hands a to who is idle, or to somebody new.
func (c *crew) run(a *attempt) {
	select {
	case c.work <- a:
	default:
		c.hands.Go(func() { c.serve(a) })
	}
}

// serve runs a, and then what comes. A function that ends its goroutine ends it.
func (c *crew) serve(a *attempt) {
	for ok := true; ok; a, ok = c.next() {
		a.run()
	}
}

// next waits for an attempt. It returns false if none will come, or enough others
// wait.
func (c *crew) next() (*attempt, bool) {
	defer c.idle.Add(-1)
	if c.idle.Add(1) > idleHands {
		return nil, false
	}
	a, ok := <-c.work
	return a, ok
}

// dismiss sends home who is idle. There are no attempts any more.
func (c *crew) dismiss() { close(c.work) }
