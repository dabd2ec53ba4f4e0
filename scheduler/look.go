package scheduler

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

// A replica that is not first in rank for a tick expects to find it claimed when
// its turn has come. So it does not compete at once, which would cost several
// messages to every node, but looks first, at one node. All that is due here at
// one instant is looked at beginning with the same node, which makes one message
// of it; other replicas, and other instants, begin elsewhere.
//
// What is final ends the attempt. That somebody is at it is a hint, and so is a node
// that does not answer, to which a try of everybody who was not answered would only
// add: the attempt waits and looks again, at the next node, but decides nothing by
// it. After a few hints, or when it could not look again in time, it tries to claim
// and goes by what a quorum says.

// Looks keep nobody from anything, so only the first in rank look one after the
// other, each ready to claim at once. All others look at the same time, which
// makes one message of all that is due, and only who finds nothing waits for its
// turn.

// lookTogether is the rank from which on replicas look at the same time.
const lookTogether = 5

// turn is how long the replica with a rank waits before it looks, and then before
// it claims.
func (e *engine) turn(rank int, room time.Duration) (look, claim time.Duration) {
	claim = stagger(e.cfg.Stagger, rank, room)
	if _, can := e.cfg.Locker.(locking.Watcher); !can {
		return claim, 0
	}
	look = stagger(e.cfg.Stagger, min(rank, lookTogether), room)
	return look, claim - look
}

// mostHints is how many hints an attempt believes, one after the other. So many
// nodes are a quorum of seven, and can tell that the tick is claimed.
const mostHints = 4

// look asks one node what became of the tick: nil if it knows of nothing in the
// way, and where the Locker cannot look.
func (a *attempt) look() error {
	begun := time.Now()
	if a.view == nil {
		w, can := a.cfg.Locker.(locking.Watcher)
		if !can {
			return nil
		}
		a.view = w.Watch(a.wanted(), a.spread())
	}
	err := a.view.Look(a.stops.claims)
	a.heard(begun, err)
	return err
}

// peek looks at the tick. It waits if somebody else seems to be at it, or if the
// node is silent, and tells whether it did: then it is time to look again. After so
// many tries closing is the verdict if the window closed now.
func (a *attempt) peek(tries int, closing *verdict) (waited bool, v verdict) {
	hint := a.look()
	if v := judge(hint, a.cfg.Replica); v.kind == lost {
		return false, v
	}
	if early := a.headStart; hint == nil && early > 0 {
		a.headStart = 0
		return a.lookLater(early, *closing)
	}
	a.headStart = 0
	silent := errors.Is(hint, locking.ErrSilent)
	if silent && tries == 0 {
		*closing = atWindowEnd(hint, a.tick)
	}
	in := a.retryDelay(1+tries+a.looks, 0, hint, a.together)
	if !silent && !errors.Is(hint, locking.ErrTaken) || a.hints == mostHints || in >= a.remaining() {
		a.hints = 0
		return false, verdict{kind: again}
	}
	a.hints++
	a.looks++
	if !silent {
		a.blocked = true
		a.tellBlocked(hint)
	}
	if a.rerun() && a.runsElsewhere(hint) {
		a.leaveTurn()
		a.leavePlace()
		if !a.standBy(hint) {
			return true, a.cutShort(*closing)
		}
		return true, verdict{kind: again}
	}
	return a.lookLater(in, *closing)
}

// lookLater waits before it is time to look again.
func (a *attempt) lookLater(in time.Duration, closing verdict) (waited bool, v verdict) {
	a.leaveTurn()
	a.leavePlace()
	if a.wait(in, nil, closing) != timeUp {
		return true, a.cutShort(closing)
	}
	return true, verdict{kind: again}
}

// together is a duration below limit that is the same for all that is due on this
// replica at one instant, and another one elsewhere: looking again makes one
// message, too.
func (a *attempt) together(limit time.Duration) time.Duration {
	return limit/2 + time.Duration(uint64(limit/2)*(a.spread()>>32)>>32)
}

// spread is a number for all that is due on this replica at one instant.
func (a *attempt) spread() uint64 { return weight("", a.tick.start, a.cfg.Replica) }
