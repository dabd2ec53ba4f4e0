package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// A loop takes an attempt's reports and answers its questions. Both methods return false if
// it has ended.
type loop interface {
	Report(p Progress) bool
	Consult(p Progress) (Answer, bool)
}

// A Progress is a report of an attempt to the loop.
type Progress struct {
	Phase   phase
	Since   time.Time // of Overdue
	Blocked *Blocked  // of Watching and Blocking; nil: no known run
	// Unheard is the verdict on later ticks while the store does not say whether the watched
	// run has ended; of Watching, without Blocked.
	Unheard job.Verdict

	CatchesUp bool // of Asking
	Run       *Run // of Won
	End       End  // of Over
}

// An Answer is the loop's reply to an attempt.
type Answer struct {
	Behind *Run // the run that blocks it; nil: none
	// Earlier is what the loop has learned since the attempt began; nil: nothing.
	Earlier *EarlierTicks
	Line    InLine
}

type phase uint8

// What an attempt reports.
const (
	Asking   phase = iota // may it try to claim?
	Watching              // another replica runs the tick
	Blocking              // it has learned which run blocks it
	Queuing               // it has claimed, and waits for a slot of its group
	Won                   // the function is about to be called
	Overdue               // the function ignores its ended context
	Over                  // decided without a run, or the run has ended
)

// InLine is the loop's answer to an attempt that waits for a slot.
type InLine struct {
	Behind bool // another attempt on this replica goes first
	Above  int  // the number of larger priorities in the group
}

// queue adds the attempt to its group's line on this replica, if needed, and returns its
// place.
func (a *attempt) queue() InLine {
	reply, _ := a.loop.Consult(Progress{Phase: Queuing})
	return reply.Line
}

// Blocked is the run on another replica that an attempt has found in its way.
type Blocked struct {
	Holder string
	Tick   time.Time // the tick of the run, if known
	Until  time.Time // the end of its lease
}

// reportBlocked tells the loop what blocks an attempt that catches up.
func (a *attempt) reportBlocked(err error) {
	if !a.caughtUp {
		return
	}
	p := Progress{Phase: Blocking}
	if taken, ok := errors.AsType[*locking.AcquireError](err); ok && errors.Is(err, locking.ErrTaken) {
		p.Blocked = &Blocked{Holder: taken.Holder, Tick: taken.HolderTick, Until: taken.Until}
	}
	a.loop.Report(p)
}

// An End is what an attempt reports when it is over.
type End struct {
	GaveUp bool // it recorded the tick, or left it to replicas that may run it
	// It is not known how its run ended. If that was not in its transaction, it is interrupted.
	Unknown bool
	// A later request of the stream was claimed, so this one cannot be claimed any more.
	Superseded bool
	Before     job.Tick  // another tick that comes first; this one is offered again. Zero: none
	Until      time.Time // and this one's window then ends here
}
