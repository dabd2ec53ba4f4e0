package scheduler

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

// A replica that is not first in rank expects to find the tick claimed. It does not compete
// at once, which costs several messages to every node, but first looks, at one node.
// Everything that is due here at one instant is looked up at the same node first, in one
// message. Other replicas and instants begin with another node.
//
// A final answer ends the attempt. A competitor is only a hint, and so is a silent node,
// since a try would send even more requests. The attempt waits and looks again, at the next
// node. After a few hints, or when the window is too short to look again, it tries to claim
// and follows the quorum.

// Looks do not block anything. So only the first in rank look one after the other, each
// ready to claim at once. All others look at the same time, in one message for everything
// that is due; if they find nothing, they wait for their turn.

// lookTogether is the rank from which on replicas look at the same time.
const lookTogether = 5

// turn is how long a replica with this rank waits before it looks, and then before it
// claims.
func (e *engine) turn(rank int, room time.Duration) (look, claim time.Duration) {
	claim = stagger(e.cfg.Stagger, rank, room)
	if _, can := e.cfg.Locker.(locking.Watcher); !can {
		return claim, 0
	}
	look = stagger(e.cfg.Stagger, min(rank, lookTogether), room)
	return look, claim - look
}

// maxHints is how many hints an attempt follows one after the other. So many nodes are a
// quorum of seven, and know whether the tick is claimed.
const maxHints = 4

// look asks one node about the tick: nil if nothing blocks it, or if the Locker cannot
// look.
func (a *attempt) look() error {
	begun := time.Now()
	if a.view == nil {
		w, can := a.cfg.Locker.(locking.Watcher)
		if !can {
			return nil
		}
		a.view = w.Watch(a.request(), a.spread())
	}
	err := a.view.Look(a.stops.claims)
	a.noteAnswer(begun, err)
	return err
}

// peek looks at the tick. After a hint it waits, and reports that it did: then it is time
// to look again. closing is the verdict if the window closed now.
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
	if !silent && !errors.Is(hint, locking.ErrTaken) || a.hints == maxHints || in >= a.remaining() {
		a.hints = 0
		return false, verdict{kind: again}
	}
	a.hints++
	a.looks++
	if !silent {
		a.blocked = true
		a.reportBlocked(hint)
	}
	if a.rerun() && a.runsElsewhere(hint) {
		a.leaveTurn()
		a.leavePlace()
		if !a.watchLease(hint) {
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

// together is a duration below limit that is the same for everything that is due on this
// replica at one instant: so looking again takes one message, too.
func (a *attempt) together(limit time.Duration) time.Duration {
	return limit/2 + time.Duration(uint64(limit/2)*(a.spread()>>32)>>32)
}

// spread is a number for everything that is due on this replica at one instant.
func (a *attempt) spread() uint64 { return weight("", a.tick.start, a.cfg.Replica) }
