package attempt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A function whose data are in the database of the store may end its run in its own transaction
// (sqlfence.Finish). What has committed counts, whatever the function returns, and whether or not
// the lease was lost, or the replica drains. If that is not certain, the replica waits until the
// transaction is decided, before it calls the function again, hands the tick over, or asks for the
// jobs that follow.

// A settler is a lease whose run a transaction of its function may end.
type settler interface {
	// Settle waits until no such transaction is under way. It returns whether the run has
	// ended, and with which note. An error means that this is unknown.
	Settle(ctx context.Context) (note []byte, ended bool, err error)
	// Database is where the store keeps the claim, as finishtx.End has it: the schema is empty
	// unless the store is a database with such transactions.
	Database() (schema, owner string)
	// Look is that of finishtx.End.
	Look(ctx context.Context) (has bool, seen uint64, err error)
}

var (
	errCallOver   = errors.New("the call of the function is over")
	errNotSettler = errors.New("the store of this replica is not a PostgreSQL database: the run ends when the function returns")
)

// finish is what the engine knows of transactions that end the run.
type finish struct {
	mu       sync.Mutex
	prepared *ledger.Entry // by the last one; nil: none since the last settle
	log      *slog.Logger  // of the call that has prepared it

	// The attempt's goroutine alone uses these.
	committed *ledger.Entry // as the store has it
	unknown   error         // whether one has committed
}

// database is that of the claim; without a schema for a store that is none.
func (c *call) database() (schema, owner string) {
	if lease, is := c.lease.(settler); is {
		return lease.Database()
	}
	return "", ""
}

// prepareFinish is the end of the run if it succeeds now, in a transaction of the function.
func (c *call) prepareFinish() (finishtx.End, error) {
	schema, owner := c.database()
	if schema == "" {
		return finishtx.End{}, errNotSettler
	}
	c.finish.mu.Lock()
	defer c.finish.mu.Unlock()
	select {
	case <-c.returned:
		return finishtx.End{}, errCallOver
	default:
	}
	e := c.entry(ledger.Succeeded)
	e.Tries, e.Finished = c.run.Try-c.spent, c.Now()
	e.StaleWrites, e.Reason = c.refused.account(c.Job.Name, e.Reason)
	c.finish.prepared, c.finish.log = &e, c.run.Logger
	return finishtx.End{
		Schema: schema, Job: c.Job.StoredAs(), Token: uint64(c.Claim.Token), Owner: owner, Note: ledger.EncodeNote(e),
		Followers: c.Job.Follows(e.Outcome), Look: c.lease.(settler).Look,
	}, nil
}

// settle finds out whether a transaction of the last call has ended the run, unless the function
// has returned in time and without an error. It reports whether that was the last call: the run
// has ended, or this stays unknown.
func (x *execution) settle() (over bool) {
	x.finish.mu.Lock()
	prepared := x.finish.prepared
	x.finish.mu.Unlock()
	if prepared == nil || x.finish.committed != nil || x.finish.unknown != nil || x.end.err == nil && x.end.cause == nil {
		return x.finish.committed != nil || x.finish.unknown != nil
	}
	ctx, cancel := context.WithTimeout(x.stops.Releases, max(time.Until(x.lease.Deadline()), lateRelease))
	defer cancel()
	note, ended, err := x.lease.(settler).Settle(ctx)
	if err != nil {
		x.finish.unknown = fmt.Errorf("it is not known whether the run was committed: %w", err)
		return true
	}
	if !ended {
		x.finish.mu.Lock()
		x.finish.prepared = nil
		x.finish.mu.Unlock()
		return false
	}
	if stored, err := ledger.DecodeNote(note); err == nil && len(note) > 0 {
		prepared.Tries, prepared.Finished, prepared.StaleWrites, prepared.Reason = stored.Tries, stored.Finished, stored.StaleWrites, stored.Reason
	}
	x.finish.committed = prepared
	x.warnCommitted()
	return true
}

// warnCommitted logs that the ledger says nothing of an error.
func (x *execution) warnCommitted() {
	if x.end.err != nil && !errors.Is(x.end.cause, locking.ErrLeaseLost) {
		x.finish.log.Warn("the function returned an error after its transaction had committed", slog.String("error", errorText(x.end.err)))
		return
	}
	x.finish.log.Warn("the run had to stop after its transaction had committed", slog.String("cause", errorText(errors.Join(x.end.cause, x.end.err))))
}

// finished returns the ledger's entry of a run that was ended, or may have been, by a transaction
// of the function.
func (x *execution) finished() (ledger.Entry, bool) {
	switch {
	case x.finish.committed != nil:
		return *x.finish.committed, true
	case x.finish.unknown != nil:
		e := x.entry(ledger.Interrupted)
		e.Tries, e.Error = x.end.tries, errorText(x.end.err)
		e.Reason = ledger.Reason{Code: ledger.CodeInterrupted}.And(ledger.TextReason("it is not known whether its transaction was committed"))
		return e, true
	case x.end.err != nil || x.end.cause != nil:
		return ledger.Entry{}, false
	}
	x.finish.mu.Lock()
	defer x.finish.mu.Unlock()
	if x.finish.prepared == nil {
		return ledger.Entry{}, false
	}
	return *x.finish.prepared, true
}
