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

// A Brief is what an attempt begins with, and later signals of the loop. Both share it.
type Brief struct {
	Job   *job.Job // as it was when the attempt began
	Tick  job.Tick
	rank  int // of this replica for the tick, from 0
	crowd int // known replicas that may run the job

	// The contexts of the pauses between tries to claim, and of the run. The loop or the
	// drain may end them.
	waits, runs         context.Context
	StopWaiting, Cancel context.CancelCauseFunc

	later chan struct{} // closed when the next tick of the schedule comes
	ended chan struct{} // closed when the attempt is over
	// Another run of the job has begun here since the attempt waits for a claim permit.
	runBegan atomic.Bool
}

// NewBrief is that of an attempt for a tick of the job.
func NewBrief(j *job.Job, t job.Tick, rank, crowd int, until Contexts) *Brief {
	b := &Brief{Job: j, Tick: t, rank: rank, crowd: crowd, later: make(chan struct{}), ended: make(chan struct{})}
	b.waits, b.StopWaiting = context.WithCancelCause(until.Claims)
	b.runs, b.Cancel = context.WithCancelCause(until.Runs)
	return b
}

// Overtake tells the attempt that the next tick of the schedule has come. It may be called
// once.
func (b *Brief) Overtake() { close(b.later) }

// overtaken reports whether the next tick of the schedule has come.
func (b *Brief) overtaken() bool {
	select {
	case <-b.later:
		return true
	default:
		return false
	}
}

// NoteRun tells the attempt that another run of the job has begun here.
func (b *Brief) NoteRun() { b.runBegan.Store(true) }

// Close tells all who wait for the attempt that it is over.
func (b *Brief) Close() {
	close(b.ended)
	b.StopWaiting(nil)
	b.Cancel(nil)
}

// patient reports whether the tick may wait beyond its window, for a run of its job or at a
// limit.
func (b *Brief) patient() bool {
	return b.Tick.Trigger == ledger.BySchedule && b.Job.Traits().Patient
}

// Beside reports whether the attempt's run may overlap others of its job.
func (b *Brief) Beside() bool { return b.Job.Traits().Beside }

// backfills is 1 for an attempt of a backfill, and 0 for others.
func (b *Brief) backfills() int {
	if b.Tick.Stream == commands.StreamBackfill {
		return 1
	}
	return 0
}

// A PausedError ends the waiting of a tick whose job was paused.
type PausedError struct{ Reason ledger.Reason }

func (e *PausedError) Error() string { return e.Reason.String() }

// PausedMeanwhile is the verdict, settled, on a tick whose job was paused between the claim
// and the call of the function; the zero one if it was not.
func (b *Brief) PausedMeanwhile() job.Verdict {
	if paused, ok := errors.AsType[*PausedError](context.Cause(b.waits)); ok {
		return job.Because(ledger.Skipped, paused.Reason)
	}
	return job.Verdict{}
}

// A loop takes an attempt's reports and answers its questions, with the zero Answer if it has
// ended.
type loop interface {
	Report(p Progress)
	Consult(p Progress) Answer
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
	Slots   SlotQueue
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

// SlotQueue is the loop's answer to an attempt that waits for a slot.
type SlotQueue struct {
	Behind bool // another attempt on this replica goes first
	Above  int  // the number of larger priorities in the group
}

// Blocked is the run on another replica that an attempt has found in its way.
type Blocked struct {
	Holder string
	Tick   time.Time // the tick of the run, if known
	Until  time.Time // the end of its lease
}

// reportBlocked tells the loop what blocks an attempt that catches up.
func (a *attempt) reportBlocked(err error) {
	if !a.window.caughtUp {
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
