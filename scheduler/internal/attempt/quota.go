package attempt

import (
	"cmp"
	"container/heap"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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
	brief *Brief
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
	w := &waiter{brief: b, given: make(chan struct{})}
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

func (h *waiters) Less(i, j int) bool { return h.order(h.list[i].brief, h.list[j].brief) < 0 }

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

// Config.MaxClaims bounds a replica's concurrent tries to claim. When thousands of ticks
// come at one instant, the others wait for a turn, in the order of their ranks. So each
// replica first claims the ticks for which it is first, and comes to the others when most
// of them are decided. The head start of the first replica thus grows with the load.
// Extensions, releases and slots of claimed ticks need no turn.
//
// There are fewer turns while nodes do not answer, since they may be overloaded. Each
// silence halves them, down to one; as many answers as there are turns add one. So retries
// do not keep nodes overloaded.

// turns are the turns of a replica. Any goroutine may use them.
type turns struct {
	most  int         // Config.MaxClaims
	fewer atomic.Bool // the limit is below

	quota             // its mutex also guards what follows
	answers int       // since the limit was changed
	halved  time.Time // when it was last
}

func newTurns(most int) *turns {
	return &turns{most: most, quota: quota{limit: most, waiting: waiters{order: turnOrder}}}
}

// note adapts the number of turns to the result of a try or a look that began at that time.
func (t *turns) note(begun time.Time, err error) {
	if unanswered(err) {
		t.silence(begun)
	} else {
		t.answer()
	}
}

// silence halves the turns after a request that began at that time was not answered, once
// for all that were under way together.
func (t *turns) silence(begun time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if begun.Before(t.halved) {
		return
	}
	t.limit, t.answers, t.halved = max(1, t.limit/2), 0, time.Now()
	t.fewer.Store(t.limit < t.most)
}

// answer counts an answer, and adds a turn after enough of them.
func (t *turns) answer() {
	if !t.fewer.Load() {
		return // the usual case
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers++; t.answers >= t.limit && t.limit < t.most {
		t.limit++
		t.answers = 0
		t.fewer.Store(t.limit < t.most)
		t.grant()
	}
}

// turnOrder orders attempts that wait for a turn.
func turnOrder(a, b *Brief) int { return cmp.Or(cmp.Compare(a.rank, b.rank), Order(a, b)) }
