package scheduler

import (
	"cmp"
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

	quota             // its mutex is for what follows, too
	answers int       // since the limit was changed
	halved  time.Time // when it was last
}

func newTurns(most int) *turns {
	return &turns{most: most, quota: quota{limit: most, waiting: wishes{order: turnOrder}}}
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

// turnOrder is that of those who wait for a turn.
func turnOrder(a, b *brief) int { return cmp.Or(cmp.Compare(a.rank, b.rank), turn(a, b)) }

// takeTurn waits for a turn to try, within the tick's window, and tells whether
// it had to. closing is the verdict if the window closed now.
func (a *attempt) takeTurn(closing verdict) (waited bool, v verdict) {
	w := a.turns.take(a.brief)
	if w == nil {
		a.hasTurn = true
		return false, verdict{kind: again}
	}
	for {
		switch a.wait(max(a.remaining(), 0), w.given, closing) {
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
