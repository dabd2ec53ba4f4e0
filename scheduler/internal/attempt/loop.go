package attempt

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An Assignment is a tick that an attempt has to decide. The loop, which shares it, signals through
// it what happens meanwhile.
type Assignment struct {
	Job      *job.Job // as it was when the attempt began
	Tick     job.Tick
	rank     int // of this replica for the tick, from 0
	eligible int // number of known replicas that may run the job

	// waitCtx lasts as long as the attempt may wait and try, and StopWaiting ends it. runCtx lasts as
	// long as its run may, and Cancel ends it. A drain ends both.
	waitCtx, runCtx     context.Context
	StopWaiting, Cancel context.CancelCauseFunc

	overtook chan struct{} // closed by Overtake
	ended    chan struct{} // closed when the attempt is over
	// runBegan is set when another run of the job begins on this replica. The attempt clears it, and
	// asks the loop again whether a run blocks it.
	runBegan atomic.Bool
}

// NewAssignment returns the Assignment of a tick of the job.
func NewAssignment(j *job.Job, t job.Tick, rank, eligible int, until Contexts) *Assignment {
	b := &Assignment{Job: j, Tick: t, rank: rank, eligible: eligible, overtook: make(chan struct{}), ended: make(chan struct{})}
	b.waitCtx, b.StopWaiting = context.WithCancelCause(until.Claims)
	b.runCtx, b.Cancel = context.WithCancelCause(until.Runs)
	return b
}

// Overtake tells the attempt that the next tick of the schedule has come. It may be called
// once.
func (b *Assignment) Overtake() { close(b.overtook) }

// overtaken reports whether the next tick of the schedule has come.
func (b *Assignment) overtaken() bool {
	select {
	case <-b.overtook:
		return true
	default:
		return false
	}
}

// NoteRun tells the attempt that another run of the job has begun here.
func (b *Assignment) NoteRun() { b.runBegan.Store(true) }

// Close tells all who wait for the attempt that it is over.
func (b *Assignment) Close() {
	close(b.ended)
	b.StopWaiting(nil)
	b.Cancel(nil)
}

// patient reports whether the tick may wait beyond its window, for a run of its job or at a
// limit.
func (b *Assignment) patient() bool {
	return b.Tick.Trigger == ledger.BySchedule && b.Job.Traits().Patient
}

// MayOverlap reports whether the attempt's run may overlap others of its job.
func (b *Assignment) MayOverlap() bool { return b.Job.Traits().Beside }

// backfillOrder is the sort key by which backfills come after other attempts, see Order.
func (b *Assignment) backfillOrder() int {
	if b.Tick.Stream == commands.StreamBackfill {
		return 1
	}
	return 0
}

// A PausedError ends the waiting of a tick whose job was paused.
type PausedError struct{ Reason ledger.Reason }

func (e *PausedError) Error() string { return e.Reason.String() }

// PauseVerdict returns a settled verdict, skipped, if the job was paused after the attempt began and
// before it called the function; else the zero Verdict.
func (b *Assignment) PauseVerdict() job.Verdict {
	if paused, ok := errors.AsType[*PausedError](context.Cause(b.waitCtx)); ok {
		return job.Because(ledger.Skipped, paused.Reason)
	}
	return job.Verdict{}
}

// A loop takes an attempt's reports and answers its questions. After it has ended, Consult returns
// the zero Answer.
type loop interface {
	Report(p Progress)
	Consult(p Progress) Answer
}

// A Progress is a report of an attempt to the loop.
type Progress struct {
	Phase   phase
	Since   time.Time // of Overdue: when the context of the function ended; zero: the function has returned after all
	Blocker *Blocker  // of Watching and Blocked; nil: no known run
	// SilenceVerdict is set with Watching if Blocker is nil: the store does not say whether the run
	// has ended. Later ticks of the job get this verdict.
	SilenceVerdict job.Verdict

	CatchesUp bool // of Asking
	Run       *Run // of Won
	End       End  // of Over
}

// An Answer is the loop's reply to an attempt.
type Answer struct {
	BlockedBy *Run // nil: no run on this replica blocks it
	// Earlier is what the loop has learned since the attempt began; nil: nothing.
	Earlier *EarlierTicks
	Slots   SlotQueue
}

type phase uint8

// What an attempt reports.
const (
	Asking   phase = iota // may it try to claim?
	Watching              // another replica runs the tick
	Blocked               // it has learned which run blocks it
	Queuing               // it has claimed, and waits for a slot of its group
	Won                   // the function is about to be called
	Overdue               // the function ignores its ended context
	Over                  // decided without a run, or the run has ended
)

// SlotQueue is the loop's answer to an attempt that waits for a slot.
type SlotQueue struct {
	NotFirst bool // another attempt on this replica goes first
	Above    int  // the number of larger priorities in the group
}

// A Blocker is a run on another replica that blocks the tick of an attempt.
type Blocker struct {
	Holder string
	Tick   time.Time // the tick of the run, if known
	Until  time.Time // the end of its lease
}

// reportBlocked tells the loop what blocks an attempt that catches up.
func (a *attempt) reportBlocked(err error) {
	if !a.window.caughtUp {
		return
	}
	p := Progress{Phase: Blocked}
	if taken, ok := errors.AsType[*locking.AcquireError](err); ok && errors.Is(err, locking.ErrTaken) {
		p.Blocker = &Blocker{Holder: taken.Holder, Tick: taken.HolderTick, Until: taken.Until}
	}
	a.loop.Report(p)
}

// An End is what an attempt reports when it is over.
type End struct {
	GaveUp bool // it recorded the tick, or left it to replicas that may run it
	// The function may have ended the run in its own transaction, and it is not known whether that
	// was committed. If it was not, the run is interrupted.
	Unknown bool
	// A later request of the stream was claimed, so this one cannot be claimed any more.
	Superseded bool
	// Before is an earlier tick that must be decided first; zero: none. The loop then offers this
	// attempt's tick again, whose window ends at Until.
	Before job.Tick
	Until  time.Time
}
