package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
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
	err := a.view.Look(a.stops.Claims)
	a.noteAnswer(begun, err)
	return err
}

// peek looks at the tick. After a hint it waits, and reports that it did: then it is time
// to look again. closing is the verdict if the window closed now.
func (a *attempt) peek(tries int, closing *job.Verdict) (waited bool, v job.Verdict) {
	hint := a.look()
	if v := judge(hint, a.cfg.Replica); v.Kind == job.Lost {
		return false, v
	}
	if early := a.HeadStart; hint == nil && early > 0 {
		a.HeadStart = 0
		return a.lookLater(early, *closing)
	}
	a.HeadStart = 0
	silent := errors.Is(hint, locking.ErrSilent)
	if silent && tries == 0 {
		*closing = atWindowEnd(hint, a.Tick)
	}
	in := a.retryDelay(1+tries+a.looks, 0, hint, a.together)
	if !silent && !errors.Is(hint, locking.ErrTaken) || a.hints == maxHints || in >= a.remaining() {
		a.hints = 0
		return false, job.Verdict{Kind: job.Again}
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
		return true, job.Verdict{Kind: job.Again}
	}
	return a.lookLater(in, *closing)
}

// lookLater waits before it is time to look again.
func (a *attempt) lookLater(in time.Duration, closing job.Verdict) (waited bool, v job.Verdict) {
	a.leaveTurn()
	a.leavePlace()
	if a.wait(in, nil, closing) != timeUp {
		return true, a.cutShort(closing)
	}
	return true, job.Verdict{Kind: job.Again}
}

// together is a duration below limit that is the same for everything that is due on this
// replica at one instant: so looking again takes one message, too.
func (a *attempt) together(limit time.Duration) time.Duration {
	return limit/2 + time.Duration(uint64(limit/2)*(a.spread()>>32)>>32)
}

// spread is a number for everything that is due on this replica at one instant.
func (a *attempt) spread() uint64 { return job.Weight("", a.Tick.Start, a.cfg.Replica) }
