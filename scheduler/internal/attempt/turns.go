package attempt

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

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

// notTried is said of a tick that got no turn, since others wait for the store.
const notTried = "not tried, since this replica tries few ticks at once meanwhile"

// takeTurn waits for a turn to try, within the tick's window, and reports whether it had
// to. closing is the verdict if the window closed now.
func (a *admission) takeTurn(closing job.Verdict) (waited bool, v job.Verdict) {
	w := a.turns.take(a.Brief)
	if w == nil {
		a.hasTurn = true
		return false, job.Verdict{Kind: job.Again}
	}
	for {
		switch a.wait(max(a.remaining(), 0), w.given, closing) {
		case runOver:
			a.hasTurn = true
			return true, job.Verdict{Kind: job.Again}
		case timeUp:
			if a.extendToCatchUp(closing) {
				continue
			}
			if closing.Reason.Code == ledger.CodeAsleep && a.turns.fewer.Load() {
				closing = job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeNoQuorum, Variant: ledger.VariantStore, Details: &ledger.Details{Text: notTried}})
			}
		}
		a.turns.giveUp(w)
		return true, a.cutShort(closing)
	}
}

// leaveTurn returns the turn, if the attempt has one.
func (a *admission) leaveTurn() {
	if a.hasTurn {
		a.hasTurn = false
		a.turns.leave()
	}
}
