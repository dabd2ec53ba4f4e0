package nodes

// A crew is the goroutines that carry requests to a node. They stay for the next
// one: the way through the client is deep, and a new goroutine would have to grow
// its stack for it every time.
type crew struct {
	tasks chan task
	over  chan struct{} // closed at the end
}

// A task is a place in a lane, with the call that took it, if there is one.
type task struct {
	lane  *lane
	first *queued
}

func newCrew() crew { return crew{tasks: make(chan task), over: make(chan struct{})} }

// start has a task done by one of the crew that is idle, or by a new one. It is
// called by who holds the wire's WaitGroup, which each of the crew does, too.
func (w *wire) start(t task) {
	select {
	case w.crew.tasks <- t:
	default:
		w.wg.Go(func() { w.labour(t) })
	}
}

// labour does the task, and others, until the wire is closed.
func (w *wire) labour(t task) {
	for {
		t.lane.carryOn(t.first)
		select {
		case t = <-w.crew.tasks:
		case <-w.crew.over:
			return
		}
	}
}
