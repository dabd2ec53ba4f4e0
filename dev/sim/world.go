package sim

import (
	"container/heap"
	"context"
	"maps"
	"sync"
	"time"
)

// A World is a network, the nodes and processes at it, and what happens to them. Messages
// and faults are events of one queue, handled by one goroutine in the order of their
// instants and, within one, of their keys: the order of requests for events does not
// matter.
//
// Create and use it within one bubble of testing/synctest, whose time is the world's.
type World struct {
	Seed    Seed
	Weather Weather
	Nodes   []*Node
	History *History

	start time.Time
	mu    sync.Mutex
	queue queue
	poke  chan struct{}
	calm  bool           // messages arrive in time
	calls map[string]int // of each script
}

// NewWorld returns a world of machines, which are its nodes.
func NewWorld(seed Seed, weather Weather, machines []Machine) *World {
	w := &World{
		Seed: seed, Weather: weather, start: time.Now(), poke: make(chan struct{}, 1), calls: map[string]int{},
	}
	w.History = &History{start: w.start, seen: map[Fault]int{}}
	for i, m := range machines {
		w.Nodes = append(w.Nodes, newNode(w, i, m))
	}
	return w
}

// Run handles events until ctx ends.
func (w *World) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.poke:
		}
		for do := w.due(); do != nil; do = w.due() {
			do()
		}
		timer.Reset(w.untilNext())
	}
}

// Now returns the time since the world began.
func (w *World) Now() time.Duration { return time.Since(w.start) }

// at asks for an event. It may be called from any goroutine.
func (w *World) at(at time.Time, key uint64, do func()) {
	w.mu.Lock()
	first := len(w.queue) == 0 || at.Before(w.queue[0].at)
	heap.Push(&w.queue, event{at: at, key: key, do: do})
	w.mu.Unlock()
	if first {
		select {
		case w.poke <- struct{}{}:
		default:
		}
	}
}

// due takes the next event off the queue if its time has come.
func (w *World) due() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queue[0].at.After(time.Now()) {
		return nil
	}
	return heap.Pop(&w.queue).(event).do
}

// farAway is the time until nothing.
const farAway = time.Hour

func (w *World) untilNext() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return farAway
	}
	return time.Until(w.queue[0].at)
}

// Calm ends the weather: from now on messages arrive, once and in time.
func (w *World) Calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
}

func (w *World) weather() Weather {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calm {
		return Weather{Delay: w.Weather.Delay}
	}
	return w.Weather
}

func (w *World) sent(script string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[script]++
}

// Calls returns how many calls of each script were sent, to all nodes.
func (w *World) Calls() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.calls)
}

// An event is something that happens at an instant.
type event struct {
	at  time.Time
	key uint64
	do  func()
}

// A queue is a heap of events.
type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].key < q[j].key
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is for package heap.
func (q *queue) Push(x any) { *q = append(*q, x.(event)) }

// Pop is for package heap.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}
