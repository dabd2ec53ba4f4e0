package scheduler

import (
	"cmp"
	"container/heap"
	"sync"
	"sync/atomic"
	"time"
)

// Config.MaxClaims bounds the tries to claim that a replica has under way at
// once. When thousands of ticks come at one instant, the others wait for a turn,
// and are let in by their rank: so each replica first claims what it is first
// for, and comes to what others are first for when most of that is decided. The
// head start of the first thus grows with the load. Nothing that is held waits
// for a turn: no extension, no release, no slot of a tick that was claimed.
//
// There are fewer turns while nodes do not answer, for they may have more to do
// than they can: each silence halves them, down to one, and each answer to as many
// questions as there are turns brings back one. So what replicas ask for again does
// not keep nodes too busy, however many ticks come.

// turns are those of a replica. Any goroutine may use them.
type turns struct {
	most  int         // Config.MaxClaims
	fewer atomic.Bool // the limit is below

	mu      sync.Mutex
	limit   int       // how many there are now
	taken   int       // of them, for a while also more
	answers int       // since the limit was changed
	halved  time.Time // when it was last
	waiting wishes
}

func newTurns(most int) *turns { return &turns{most: most, limit: most} }

// A wish is that of an attempt for a turn.
type wish struct {
	*attempt
	given chan struct{} // closed when it has the turn
	index int           // in the heap; negative when it is not there any more
}

// take takes a turn, or has a wait for one: then it returns its wish.
func (t *turns) take(a *attempt) *wish {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken < t.limit {
		t.taken++
		return nil
	}
	w := &wish{attempt: a, given: make(chan struct{})}
	heap.Push(&t.waiting, w)
	return w
}

// leave gives a turn back, to whoever goes first.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	t.pass()
}

// giveUp takes a wish back. A turn that was given meanwhile is handed on.
func (t *turns) giveUp(w *wish) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&t.waiting, w.index)
		return
	}
	t.taken--
	t.pass()
}

// pass hands out what is free. The caller holds the mutex.
func (t *turns) pass() {
	for len(t.waiting) > 0 && t.taken < t.limit {
		t.taken++
		close(heap.Pop(&t.waiting).(*wish).given)
	}
}

// silence halves the turns after a question that was begun at that time was not
// answered: once for all those that were under way together.
func (t *turns) silence(begun time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if begun.Before(t.halved) {
		return
	}
	t.limit, t.answers, t.halved = max(1, t.limit/2), 0, time.Now()
	t.fewer.Store(t.limit < t.most)
}

// answer brings turns back.
func (t *turns) answer() {
	if !t.fewer.Load() {
		return // as a rule
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers++; t.answers >= t.limit && t.limit < t.most {
		t.limit++
		t.answers = 0
		t.fewer.Store(t.limit < t.most)
		t.pass()
	}
}

// wishes is a heap: the one who goes first, first.
type wishes []*wish

func (q wishes) Len() int { return len(q) }

func (q wishes) Less(i, j int) bool {
	a, b := q[i].attempt, q[j].attempt
	return cmp.Or(cmp.Compare(a.rank, b.rank), turn(a, b)) < 0
}

func (q wishes) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push is for package heap.
func (q *wishes) Push(x any) {
	w := x.(*wish)
	w.index = len(*q)
	*q = append(*q, w)
}

// Pop is for package heap.
func (q *wishes) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last], w.index = nil, -1
	*q = (*q)[:last]
	return w
}

// takeTurn waits for a turn to try, within the tick's window, and tells whether
// it had to. closing is the verdict if the window closed now.
func (a *attempt) takeTurn(closing verdict) (waited bool, v verdict) {
	w := a.turns.take(a)
	if w == nil {
		a.hasTurn = true
		return false, verdict{kind: again}
	}
	for {
		switch a.wait(max(a.left(), 0), w.given, closing) {
		case runOver:
			a.hasTurn = true
			return true, verdict{kind: again}
		case timeUp:
			if a.goOn(closing) {
				continue
			}
		}
		a.turns.giveUp(w)
		return true, a.cutShort(closing)
	}
}

// leaveTurn gives the turn back, if the attempt has one.
func (a *attempt) leaveTurn() {
	if a.hasTurn {
		a.hasTurn = false
		a.turns.leave()
	}
}
