package attempt

import (
	"cmp"
	"container/heap"
	"strings"
	"sync"
)

// Config.MaxRunning bounds the runs of a replica. An attempt needs a place before each try
// to claim. Without one it leaves the tick to other replicas. It keeps the place until the
// function has returned, which may be later than the end of the lease. It has none between
// two tries, so nobody waits for a waiting attempt.

// A quota bounds how many attempts of a replica have a share at once, and orders those that
// wait. Any goroutine may use it.
type quota struct {
	mu      sync.Mutex
	limit   int // the number of shares
	taken   int // shares in use; may exceed the limit for a while
	waiting waiters
}

// A waiter is an attempt that waits for a share of a quota.
type waiter struct {
	*Brief
	given chan struct{} // closed when it has its share
	index int           // in the heap; negative when it is no longer there
}

// newPlaces returns the quota of Config.MaxRunning, nil if there is none.
func newPlaces(most int) *quota {
	if most == 0 {
		return nil
	}
	return &quota{limit: most, waiting: waiters{order: Order}}
}

// take gives an attempt a share and returns nil, or returns its waiter.
func (q *quota) take(b *Brief) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken < q.limit {
		q.taken++
		return nil
	}
	w := &waiter{Brief: b, given: make(chan struct{})}
	heap.Push(&q.waiting, w)
	return w
}

// leave returns a share. The first waiter gets it.
func (q *quota) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	q.grant()
}

// giveUp removes a waiter. If it has just got a share, the next one gets it.
func (q *quota) giveUp(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&q.waiting, w.index)
		return
	}
	q.taken--
	q.grant()
}

// grant gives free shares to waiters. The caller holds the mutex.
func (q *quota) grant() {
	for len(q.waiting.list) > 0 && q.taken < q.limit {
		q.taken++
		close(heap.Pop(&q.waiting).(*waiter).given)
	}
}

// waiters is a heap: the attempt that goes first, first.
type waiters struct {
	list  []*waiter
	order func(a, b *Brief) int
}

func (h *waiters) Len() int { return len(h.list) }

func (h *waiters) Less(i, j int) bool { return h.order(h.list[i].Brief, h.list[j].Brief) < 0 }

func (h *waiters) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

func (h *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(h.list)
	h.list = append(h.list, w)
}

func (h *waiters) Pop() any {
	last := len(h.list) - 1
	w := h.list[last]
	h.list[last], w.index = nil, -1
	h.list = h.list[:last]
	return w
}

// Order orders attempts that wait at a limit: backfills last, then by priority, then by
// tick.
func Order(a, b *Brief) int {
	return cmp.Or(
		cmp.Compare(a.backfills(), b.backfills()),
		cmp.Compare(b.Job.Priority, a.Job.Priority),
		a.Tick.Start.Compare(b.Tick.Start),
		strings.Compare(a.Job.Name, b.Job.Name),
	)
}
