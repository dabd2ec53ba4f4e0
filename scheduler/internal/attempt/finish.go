package attempt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/ledger"
)

// finish records and reports how the run ended, and releases the lease.
func (x *execution) finish() {
	a, r := x.attempt, x.run
	if x.end.calls == 0 { // no time was left to call the function
		a.deps.void(r.lease)
		r.notify(event.Event{Kind: event.Unused})
		a.conclude(job.MissedFor(ledger.CodeTooLate))
		return
	}
	x.settle()
	x.keeper.Stop()
	entry, free := x.result(), r.lease.Release
	if x.tx.unknown != nil {
		r.notifyOf(entry, event.Event{Kind: event.Finished, Err: x.tx.unknown})
		r.archive(entry)
		a.end.Unknown = true
		return // whatever was requested or stored now might be wrong
	}
	if entry.HandedOver() { // first free what the next attempt needs
		free = r.lease.HandOver
		x.freeSlot()
		a.releaseRunPermit()
	} else {
		entry = r.chain(entry, x.tx.committed != nil)
	}
	released := r.release(entry, free)
	r.notifyOf(entry, event.Event{Kind: event.Finished, Err: released})
	r.archive(entry)
}

// result is the ledger's entry of the run.
func (x *execution) result() ledger.Entry {
	if entry, is := x.endedByTransaction(); is {
		return entry
	}
	end, entry := &x.end, x.run.entry("")
	entry.Calls, entry.Finished = end.calls, x.run.deps.engine.Now()
	entry.Outcome, entry.Reason = outcome(end.err, end.cause)
	if lost := x.slotLost(end.cause); !lost.IsZero() && entry.Outcome == ledger.LeaseLost {
		entry.Reason = lost
	}
	entry.Reason = entry.Reason.And(end.why)
	if spent, does := x.handsOver(); does {
		entry.Outcome, entry.Reason, entry.Spent = ledger.Interrupted, ledger.Reason{Code: ledger.CodeDrained, Variant: ledger.VariantHandedOver}, spent
	}
	entry.StaleWrites, entry.Reason = x.refused.account(x.run.assignment.Job.Name, entry.Reason)
	entry.Error = errorText(end.err)
	return entry
}

// lateRelease bounds a release after the end of the lease: one round, to record the
// outcome.
const lateRelease = 2 * time.Second

// release stores how the run ended and frees the lock. It retries until the lease ends, and
// makes one round if it has ended. If no round succeeds, the ledger may call the run
// interrupted. An expired lease is no failure: the record is stored, and has the outcome of
// the run.
func (r *Run) release(entry ledger.Entry, by func(context.Context, []byte) error) error {
	began := time.Now()
	left := r.lease.Deadline().Sub(began)
	ctx, cancel := context.WithTimeout(r.deps.stops.Releases, max(left, lateRelease))
	defer cancel()
	err := by(ctx, ledger.EncodeNote(entry))
	if errors.Is(err, locking.ErrExpired) {
		err = nil
	}
	r.notifyOf(entry, event.Event{Kind: event.Released, Left: left, Took: time.Since(began), Err: err})
	return err
}

// errNil is the error of a function that returned nil after its context had ended: it was
// told to stop, and does not say whether it had done its work.
var errNil = errors.New("the function returned nil after its context had ended")

// outcome returns how a run ended. Its function returned err; its context had ended for
// cause (nil: it had not). A function whose context has ended has not succeeded.
func outcome(err, cause error) (ledger.Outcome, ledger.Reason) {
	skip, skipped := errors.AsType[*jobs.SkipError](err)
	stopped, isStop := errors.AsType[*StopError](cause)
	switch {
	case errors.Is(cause, locking.ErrLeaseLost):
		return ledger.LeaseLost, whyLost(cause)
	case err == nil && cause == nil:
		return ledger.Succeeded, ledger.Reason{}
	case skipped:
		return ledger.Skipped, ledger.Reason{Code: ledger.CodeFunction, Details: &ledger.Details{Text: skip.Reason}}
	case cause == nil:
		return ledger.Failed, ledger.Reason{}
	case errors.Is(cause, errCallTimeout):
		return ledger.TimedOut, ledger.Reason{Code: ledger.CodeTimeout, Variant: ledger.VariantTry}
	case errors.Is(cause, jobs.ErrTimeout):
		return ledger.TimedOut, ledger.Reason{Code: ledger.CodeTimeout}
	case errors.Is(cause, jobs.ErrDraining):
		return ledger.Cancelled, ledger.Reason{Code: ledger.CodeDrained, Variant: ledger.VariantRun}
	case isStop:
		return ledger.Cancelled, stopped.Reason
	case errors.Is(cause, jobs.ErrCancelled):
		return ledger.Cancelled, ledger.Reason{Code: ledger.CodeCancelled}
	default:
		return ledger.Cancelled, ledger.TextReason(cause.Error())
	}
}

// A StopError ends the context of a run that must stop.
type StopError struct{ Reason ledger.Reason }

func (e *StopError) Error() string { return e.Reason.String() }

// Unwrap makes it a jobs.ErrCancelled.
func (e *StopError) Unwrap() error { return jobs.ErrCancelled }

// whyLost returns how the lease of a run was lost.
func whyLost(cause error) ledger.Reason {
	if errors.Is(cause, locking.ErrMaxHold) {
		return ledger.Reason{Code: ledger.CodeMaxHold}
	}
	if evicted, ok := errors.AsType[*locking.EvictedError](cause); ok {
		return ledger.Reason{Code: ledger.CodeEvicted, Details: &ledger.Details{Text: evicted.Reason}}
	}
	return ledger.Reason{Code: ledger.CodeLost}
}

// maxErrorText bounds the text of an error in the ledger.
const maxErrorText = 4 << 10

// errorText is the ledger's text of err, with the stack of a panic.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	if _, skipped := errors.AsType[*jobs.SkipError](err); skipped {
		return ""
	}
	text := err.Error()
	if crash, ok := errors.AsType[*jobs.PanicError](err); ok {
		text = fmt.Sprintf("%s\n%s", text, crash.Stack)
	}
	if len(text) > maxErrorText {
		const cut = "\n… (cut)"
		text = strings.ToValidUTF8(text[:maxErrorText-len(cut)], "") + cut
	}
	return text
}

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
	Look(ctx context.Context) (has bool, newer uint64, err error)
}

var (
	errCallOver   = errors.New("the call of the function is over")
	errNotSettler = errors.New("the store of this replica is no database with such transactions: the run ends when the function returns")
)

// transaction is what the engine knows of transactions of the function that end the run.
type transaction struct {
	mu       sync.Mutex
	prepared *ledger.Entry // by the last one; nil: none since the last settle
	log      *slog.Logger  // of the call that has prepared it

	// The attempt's goroutine alone uses these, and at most one of them is set.
	committed *ledger.Entry // as the store has it
	unknown   error         // whether one has committed
}

// database is that of the claim; without a schema for a store that is none.
func (r *Run) database() (schema, owner string) {
	if lease, is := r.lease.(settler); is {
		return lease.Database()
	}
	return "", ""
}

// prepareFinish is the end of the run if it succeeds now, in a transaction of the function.
func (c *call) prepareFinish() (finishtx.End, error) {
	x, r := c.execution, c.execution.run
	schema, owner := r.database()
	if schema == "" {
		return finishtx.End{}, errNotSettler
	}
	x.tx.mu.Lock()
	defer x.tx.mu.Unlock()
	select {
	case <-c.returned:
		return finishtx.End{}, errCallOver
	default:
	}
	e := r.entry(ledger.Succeeded)
	e.Calls, e.Finished = c.told.Call-x.spent, r.deps.engine.Now()
	e.StaleWrites, e.Reason = x.refused.account(r.assignment.Job.Name, e.Reason)
	requests, err := r.requests(e)
	if err != nil {
		return finishtx.End{}, err
	}
	x.tx.prepared, x.tx.log = &e, c.told.Logger
	return finishtx.End{
		Schema: schema, Job: r.assignment.Job.StoredAs(), Token: uint64(r.Claim.Token), Owner: owner, Note: ledger.EncodeNote(e),
		Followers: r.assignment.Job.Follows(e.Outcome), Requests: requests, Look: r.lease.(settler).Look,
	}, nil
}

// requests are those for the jobs that follow, as finishtx.End has them.
func (r *Run) requests(e ledger.Entry) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, key := range r.assignment.Job.Follows(e.Outcome) {
		command, err := r.follower(e, key).Ready()
		if err != nil {
			return nil, err
		}
		if all[command.ID], err = command.Encode(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// settle finds out whether a transaction of the last call has ended the run, unless the function
// has returned in time and without an error. It reports whether that was the last call: the run
// has ended, or this stays unknown.
func (x *execution) settle() (over bool) {
	if x.tx.committed != nil || x.tx.unknown != nil {
		return true
	}
	x.tx.mu.Lock()
	prepared := x.tx.prepared
	x.tx.mu.Unlock()
	if prepared == nil || x.end.err == nil && x.end.cause == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(x.run.deps.stops.Releases, max(time.Until(x.run.lease.Deadline()), lateRelease))
	defer cancel()
	note, ended, err := x.run.lease.(settler).Settle(ctx)
	if err != nil {
		x.tx.unknown = fmt.Errorf("it is not known whether the run was committed: %w", err)
		return true
	}
	if !ended {
		x.tx.mu.Lock()
		x.tx.prepared = nil
		x.tx.mu.Unlock()
		return false
	}
	if stored, err := ledger.DecodeNote(note); err == nil && len(note) > 0 {
		prepared.Calls, prepared.Finished, prepared.StaleWrites, prepared.Reason = stored.Calls, stored.Finished, stored.StaleWrites, stored.Reason
	}
	x.tx.committed = prepared
	x.warnCommitted()
	return true
}

// warnCommitted logs that the ledger says nothing of an error.
func (x *execution) warnCommitted() {
	if x.end.err != nil && !errors.Is(x.end.cause, locking.ErrLeaseLost) {
		x.tx.log.Warn("the function returned an error after its transaction had committed", slog.String("error", errorText(x.end.err)))
		return
	}
	x.tx.log.Warn("the run had to stop after its transaction had committed", slog.String("cause", errorText(errors.Join(x.end.cause, x.end.err))))
}

// endedByTransaction returns the ledger's entry of a run that was ended, or may have been, by a
// transaction of the function.
func (x *execution) endedByTransaction() (ledger.Entry, bool) {
	switch {
	case x.tx.committed != nil:
		return *x.tx.committed, true
	case x.tx.unknown != nil:
		e := x.run.entry(ledger.Interrupted)
		e.Calls, e.Error = x.end.calls, errorText(x.end.err)
		e.Reason = ledger.Reason{Code: ledger.CodeInterrupted}.And(ledger.TextReason("it is not known whether its transaction was committed"))
		return e, true
	case x.end.err != nil || x.end.cause != nil:
		return ledger.Entry{}, false
	}
	x.tx.mu.Lock()
	defer x.tx.mu.Unlock()
	if x.tx.prepared == nil {
		return ledger.Entry{}, false
	}
	return *x.tx.prepared, true
}

// errNoCommands: there is no store for the request.
var errNoCommands = errors.New("this replica has no Config.Commands")

// endPause is the time between two tries to store what follows the end of a run.
const endPause = 250 * time.Millisecond

// chain requests the jobs that follow the run, unless a transaction of the function has. It adds
// failures to the entry's Reason.
func (r *Run) chain(e ledger.Entry, requested bool) ledger.Entry {
	keys := r.assignment.Job.Follows(e.Outcome)
	if len(keys) == 0 {
		return e
	}
	// The other half of the remaining lease is for its release.
	ctx, cancel := context.WithTimeout(r.deps.stops.Releases, time.Until(r.lease.Deadline())/2)
	defer cancel()
	for _, key := range keys {
		var err error
		if !requested {
			err = storeCommand(ctx, r.deps.cfg.Commands, r.follower(e, key))
		}
		r.notifyOf(e, event.Event{Kind: event.Chained, Triggers: key, Err: err})
		if err != nil {
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeNotTriggered, Details: &ledger.Details{Of: key, Text: err.Error()}})
		}
	}
	return e
}

// follower is the request for the job with the key, which follows the run.
func (r *Run) follower(e ledger.Entry, key string) commands.Command {
	return commands.Command{
		ID: job.ChainID(e.ID(), key), Kind: commands.Trigger, Job: key, Trigger: ledger.ByChain, Parent: e.ID(),
		By: r.assignment.Job.Name, Reason: fmt.Sprintf("its run %s", strings.ReplaceAll(string(e.Outcome), "_", " ")),
	}
}

// storeCommand stores the command, and tries again while the store does not answer, or refuses.
func storeCommand(ctx context.Context, store commands.Store, command commands.Command) error {
	if store == nil {
		return errNoCommands
	}
	for {
		_, err := store.Do(ctx, command)
		if _, asked := errors.AsType[*commands.ReusedIDError](err); asked {
			return nil // by an earlier attempt with another end: nothing else makes this ID
		}
		if !presence.Passing(err) || !retry.Sleep(ctx, endPause) {
			return err
		}
	}
}

// With on_crash: rerun, a run that a drain ends is handed over: its lease ends, its tick is
// not done, and another replica claims it again, with a larger token and attempt, and the
// remaining calls. The replicas that watch the tick check for that every second (look.go).
// If none is alive, the next one to start finds the run interrupted.

// handsOver reports whether another replica is to run the tick again: the drain ended the
// run, or came between two of its calls. It counts the calls that failed for other reasons.
func (x *execution) handsOver() (spent int, does bool) {
	if x.run.assignment.Job.OnCrash != jobs.CrashRerun || x.end.err == nil {
		return 0, false
	}
	_, skipped := errors.AsType[*jobs.SkipError](x.end.err)
	switch {
	case skipped, jobs.IsPermanent(x.end.err), errors.Is(x.end.err, fence.ErrStale):
		return 0, false
	case x.end.why.Code == ledger.CodeNoRetry && x.end.why.Variant == ledger.VariantDrain:
		return x.spent + x.end.calls, true
	default: // the last call is repeated
		return x.spent + x.end.calls - 1, errors.Is(x.end.cause, jobs.ErrDraining)
	}
}

// takeOver reads how many calls earlier attempts have used, if the job has more than one.
func (x *execution) takeOver() {
	if x.run.Claim.Attempt < 2 || x.run.assignment.Job.Retry.Attempts < 2 {
		return
	}
	// Without an answer the function gets all calls, as after a crash.
	for _, run := range x.run.deps.recorded(x.run.assignment.runCtx, x.run.assignment, maxHandovers) {
		if run.HandedOver() {
			x.spent = max(x.spent, run.Spent)
		}
	}
}

// maxHandovers bounds the attempts of a tick that takeOver reads.
const maxHandovers = 20
