package scheduler

import (
	"cmp"
	"container/heap"
	"strings"
	"sync"
)

// Config.MaxRunning bounds what a replica runs at once. An attempt needs a place
// before each try to claim: what finds none is left to other replicas, which may
// have one. It keeps the place until the function has returned, which for one
// that ignores its context is later than the lease. Between two tries it has
// none, so nobody waits for an attempt that waits itself.

// A quota bounds how many attempts of a replica have something at once, and says
// which of those that wait is next. Any goroutine may use it.
type quota struct {
	mu      sync.Mutex
	limit   int // how many may have it now
	taken   int // how many do, for a while also more
	waiting wishes
}

// A wish is that of an attempt which waits for its share of a quota.
type wish struct {
	*brief
	given chan struct{} // closed when it has it
	index int           // in the heap; negative when it is not there any more
}

// newPlaces is the quota of Config.MaxRunning, nil if there is none.
func newPlaces(most int) *quota {
	if most == 0 {
		return nil
	}
	return &quota{limit: most, waiting: wishes{order: turn}}
}

// take gives an attempt its share, or has it wait for one: then it returns its wish.
func (q *quota) take(b *brief) *wish {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken < q.limit {
		q.taken++
		return nil
	}
	w := &wish{brief: b, given: make(chan struct{})}
	heap.Push(&q.waiting, w)
	return w
}

// leave gives a share back, to the attempt that goes first.
func (q *quota) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	q.pass()
}

// giveUp takes a wish back. What was given meanwhile is handed on.
func (q *quota) giveUp(w *wish) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&q.waiting, w.index)
		return
	}
	q.taken--
	q.pass()
}

// pass hands out what is free. The caller holds the mutex.
func (q *quota) pass() {
	for len(q.waiting.list) > 0 && q.taken < q.limit {
		q.taken++
		close(heap.Pop(&q.waiting).(*wish).given)
	}
}

// wishes is a heap: the attempt that goes first, first.
type wishes struct {
	list  []*wish
	order func(a, b *brief) int
}

func (h *wishes) Len() int { return len(h.list) }

func (h *wishes) Less(i, j int) bool { return h.order(h.list[i].brief, h.list[j].brief) < 0 }

func (h *wishes) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

// Push is for package heap.
func (h *wishes) Push(x any) {
	w := x.(*wish)
	w.index = len(h.list)
	h.list = append(h.list, w)
}

// Pop is for package heap.
func (h *wishes) Pop() any {
	last := len(h.list) - 1
	w := h.list[last]
	h.list[last], w.index = nil, -1
	h.list = h.list[:last]
	return w
}

// turn orders those whom a limit makes wait: what is backfilled last, then by
// priority, then by tick.
func turn(a, b *brief) int {
	return cmp.Or(
		cmp.Compare(a.backfills(), b.backfills()),
		cmp.Compare(b.job.Priority, a.job.Priority),
		a.tick.start.Compare(b.tick.start),
		strings.Compare(a.job.Name, b.job.Name),
	)
}
