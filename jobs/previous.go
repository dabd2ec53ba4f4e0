package jobs

import (
	"context"
	"errors"
	"time"
)

// Previous is how a job's earlier runs ended: see Run.Previous.
type Previous struct {
	// Success is the tick of the last run that succeeded, and Ended when that was over.
	// Zero: there was none, or the ledger no longer has it.
	Success, Ended time.Time
	// Outcome is that of the last run that has ended: succeeded, failed, timed_out,
	// cancelled, lease_lost, interrupted or skipped. Empty: there was none.
	Outcome string
}

// ErrNoLedger is returned by Run.Previous for a context that is not that of a run.
var ErrNoLedger = errors.New("jobs: the context is not that of a run: there is no ledger to read")

// Previous reads from the ledger how earlier ticks of the job ended, on any replica; other
// attempts of this tick do not count. ctx is the context of the run, or derived from it.
// Each call asks the nodes. The error matches locking.ErrNoQuorum if too few of them
// answer, the context's own if that has ended, and ErrNoLedger in a test that calls the
// function without WithPrevious.
func (r Run) Previous(ctx context.Context) (Previous, error) {
	read, ok := ctx.Value(previousKey{}).(func(context.Context) (Previous, error))
	if !ok {
		return Previous{}, ErrNoLedger
	}
	return read(ctx)
}

type previousKey struct{}

// WithPrevious returns a context in which Run.Previous returns what read does: for the
// scheduler, and for tests of functions.
func WithPrevious(ctx context.Context, read func(context.Context) (Previous, error)) context.Context {
	return context.WithValue(ctx, previousKey{}, read)
}
