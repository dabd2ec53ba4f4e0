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
	coming    bool            // a hand is on its way
	idle      []chan struct{} // hands that wait to be called, those who did something last at the end
	dismissed bool
}

func newCrew() *crew { return &crew{} }

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
	last := len(c.idle) - 1
	switch {
	case c.coming || c.line.first == nil:
		return
	case last >= 0: // which has its stack in the caches
		c.idle[last] <- struct{}{}
		c.idle = c.idle[:last]
	default:
		c.hands.Go(c.serve)
	}
	c.coming = true
}

// serve does what waits, and then what comes. A function that ends its goroutine
// ends it.
func (c *crew) serve() {
	called := make(chan struct{}, 1)
	for stays := true; stays; stays = c.wait(called) {
		for a := c.take(true); a != nil; a = c.take(false) {
			a.run()
		}
	}
}

// take takes the first attempt that waits, nil if none does. Arrived says that the
// hand was on its way.
func (c *crew) take(arrived bool) *attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if arrived {
		c.coming = false
	}
	if c.line.first == nil {
		return nil
	}
	a := c.line.take()
	c.fetch()
	return a
}

// wait waits for attempts. It returns false if none will come, or enough others wait.
func (c *crew) wait(called chan struct{}) bool {
	c.mu.Lock()
	stays := !c.dismissed && len(c.idle) < idleHands
	if stays {
		c.idle = append(c.idle, called)
	}
	c.mu.Unlock()
	if stays {
		_, stays = <-called
	}
	return stays
}

// dismiss sends home who is idle. There are no attempts any more.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismissed = true
	for _, called := range c.idle {
		close(called)
	}
	c.idle = nil
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
