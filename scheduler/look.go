package scheduler

import (
	"errors"

	"github.com/quorate/quorate/locking"
)

// A replica that is not first in rank for a tick expects to find it claimed when
// its turn has come. So it does not compete at once, which would cost several
// messages to every node, but looks first, at one node. All that is due here at
// one instant is looked at beginning with the same node, which makes one message
// of it; other replicas, and other instants, begin elsewhere.
//
// What is final ends the attempt. That somebody is at it is a hint: the attempt
// waits and looks again, at the next node, but decides nothing by it. After a few
// hints, or when it could not look again in time, it tries to claim and goes by
// what a quorum says.

// mostHints is how many hints an attempt believes, one after the other. So many
// nodes are a quorum of seven, and can tell that the tick is claimed.
const mostHints = 4

// look asks one node what became of the tick: nil if it knows of nothing in the
// way, and where the Locker cannot look.
func (a *attempt) look() error {
	if a.view == nil {
		w, can := a.cfg.Locker.(locking.Watcher)
		if !can {
			return nil
		}
		a.view = w.Watch(a.wanted(), weight("", a.tick.start, a.cfg.Replica))
	}
	return a.view.Look(a.stops.claims)
}

// peek looks at the tick. It waits if somebody else seems to be at it, and tells
// whether it did: then it is time to look again. After so many tries closing is
// the verdict if the window closed now.
func (a *attempt) peek(tries int, closing verdict) (waited bool, v verdict) {
	hint := a.look()
	if v := judge(hint, a.cfg.Replica); v.kind == lost {
		return false, v
	}
	in := a.retryDelay(1+tries+a.looks, 0, hint)
	if !errors.Is(hint, locking.ErrTaken) || a.hints == mostHints || in >= a.left() {
		a.hints = 0
		return false, verdict{kind: again}
	}
	a.hints++
	a.looks++
	a.leaveTurn()
	a.leavePlace()
	if a.watched && a.runsElsewhere(hint) {
		if !a.standBy(hint) {
			return true, a.cutShort(closing)
		}
		return true, verdict{kind: again}
	}
	if a.wait(in, nil, closing) != timeUp {
		return true, a.cutShort(closing)
	}
	return true, verdict{kind: again}
}
