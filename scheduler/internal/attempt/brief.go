package attempt

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/quorate/quorate/scheduler/acts"
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
	// Another run of the job has begun here since the attempt waits for a turn.
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

// backfills is 1 for an attempt of a backfill, and 0 for others.
func (b *Brief) backfills() int {
	if b.Tick.Stream == acts.StreamBackfill {
		return 1
	}
	return 0
}

// A PausedError ends the waiting of a tick whose job was paused.
type PausedError struct{ Reason ledger.Reason }

func (e *PausedError) Error() string { return e.Reason.String() }

// PausedMeanwhile is the verdict on a tick whose job was paused between the claim and the
// call of the function.
func (b *Brief) PausedMeanwhile() job.Verdict {
	if paused, ok := errors.AsType[*PausedError](context.Cause(b.waits)); ok {
		return job.Because(ledger.Skipped, paused.Reason)
	}
	return job.Verdict{Kind: job.Again}
}
