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

// looks are an attempt's looks.
type looks struct {
	view  locking.Watch // nil until the first one
	count int           // those that were followed by a pause
	hints int           // those of them since the last try
}

// look asks one node about the tick: nil if nothing blocks it, or if the Locker cannot
// look.
func (a *attempt) look() error {
	begun := time.Now()
	if a.looks.view == nil {
		w, can := a.cfg.Locker.(locking.Watcher)
		if !can {
			return nil
		}
		a.looks.view = w.Watch(a.request(), a.spread())
	}
	err := a.looks.view.Look(a.stops.Claims)
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
	if early := a.headStart; hint == nil && early > 0 {
		a.headStart = 0
		return a.lookLater(early, *closing)
	}
	a.headStart = 0
	a.hearNothing(hint)
	silent := errors.Is(hint, locking.ErrSilent)
	if silent && tries == 0 {
		*closing = atWindowEnd(hint, a.Tick)
	}
	in := a.retryDelay(1+tries+a.looks.count, 0, hint, a.together)
	if !silent && !errors.Is(hint, locking.ErrTaken) || a.looks.hints == maxHints || in >= a.remaining() {
		a.looks.hints = 0
		return false, job.Verdict{Kind: job.Again}
	}
	a.looks.hints++
	a.looks.count++
	if !silent {
		a.blocked = true
		a.reportBlocked(hint)
	}
	if a.rerun() && a.runsElsewhere(hint) {
		a.leave()
		if !a.watchLease(hint) {
			return true, a.cutShort(*closing)
		}
		return true, job.Verdict{Kind: job.Again}
	}
	return a.lookLater(in, *closing)
}

// lookLater waits before it is time to look again.
func (a *attempt) lookLater(in time.Duration, closing job.Verdict) (waited bool, v job.Verdict) {
	a.leave()
	if a.wait(in, nil, closing) != timeUp {
		return true, a.cutShort(closing)
	}
	return true, job.Verdict{Kind: job.Again}
}
