package scheduler

import "sync"

// idleHands is how many goroutines of a crew stay when there is nothing to do.
const idleHands = 4 * firesAtOnce

// A crew runs attempts in goroutines, its hands. Those that are done with one stay
// for the next, with the stacks that they have grown: to begin a goroutine, and to
// grow its stack, takes longer than an ordinary fire.
//
// As long as attempts wait, one hand is on its way, and calls another as soon as it
// has come. So attempts that wait for something, as most do, have a hand each at
// once, and those that never do are done by a few, one after the other: to wake a
// hand for each would take longer than they do.
type crew struct {
	hands sync.WaitGroup

	mu        sync.Mutex
	line      attemptLine
	coming    bool       // a hand is on its way
	idle      int        // hands that wait for some, less one on its way
	some      *sync.Cond // there are attempts, or never will be
	dismissed bool
}

func newCrew() *crew {
	c := &crew{}
	c.some = sync.NewCond(&c.mu)
	return c
}

// run has a done.
func (c *crew) run(a *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line.add(a)
	c.fetch()
}

// fetch sees to it that a hand is on its way if attempts wait. The caller holds the
// mutex.
func (c *crew) fetch() {
	switch {
	case c.coming || c.line.first == nil:
		return
	case c.idle > 0:
		c.idle--
		c.some.Signal()
	default:
		c.hands.Go(c.serve)
	}
	c.coming = true
}

// serve does what waits, and then what comes. A function that ends its goroutine
// ends it.
func (c *crew) serve() {
	for a := c.arrive(); a != nil; a = c.next() {
		a.run()
	}
}

// arrive is next for a hand that was on its way.
func (c *crew) arrive() *attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coming = false
	return c.take()
}

// next is the attempt to do now. It waits for one, and is nil if none will come, or
// enough others wait.
func (c *crew) next() *attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take()
}

// take is next. The caller holds the mutex.
func (c *crew) take() *attempt {
	for c.line.first == nil {
		if c.dismissed || c.idle == idleHands {
			return nil
		}
		c.idle++
		c.some.Wait()
		c.coming = false
	}
	a := c.line.take()
	c.fetch()
	return a
}

// dismiss sends home who is idle. There are no attempts any more.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismissed = true
	c.some.Broadcast()
}

// An attemptLine has attempts in the order in which they came.
type attemptLine struct{ first, last *attempt }

func (l *attemptLine) add(a *attempt) {
	if l.first == nil {
		l.first = a
	} else {
		l.last.after = a
	}
	l.last = a
}

// take takes the first one out.
func (l *attemptLine) take() *attempt {
	a := l.first
	l.first, a.after = a.after, nil
	return a
}
