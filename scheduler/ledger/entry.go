package ledger

import (
	"time"

	"github.com/quorate/quorate/locking"
)

// An Outcome is what became of a tick or a run.
type Outcome string

// Outcomes of runs, and the two of ticks that did not run.
const (
	Running     Outcome = "running"
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	TimedOut    Outcome = "timed_out"
	LeaseLost   Outcome = "lease_lost"
	Interrupted Outcome = "interrupted" // its replica died, or drained and handed it over
	Cancelled   Outcome = "cancelled"

	Skipped Outcome = "skipped" // decided not to run it, for Reason
	Missed  Outcome = "missed"  // could not be run, for Reason
)

// Ran tells whether the outcome is that of a run, not of a tick without one.
func (o Outcome) Ran() bool { return o != Skipped && o != Missed }

// A Trigger is why a run was asked for.
type Trigger string

// The triggers.
const (
	BySchedule Trigger = "schedule" // the tick came due
	ByCatchUp  Trigger = "catch_up" // it came due while nobody could run it
	ByRerun    Trigger = "rerun"    // the replica that ran it died
	ByManual   Trigger = "manual"   // somebody asked for it
	ByBackfill Trigger = "backfill" // somebody asked for ticks of the past
	ByChain    Trigger = "chain"    // another job's run has ended
)

// An Entry is the ledger's line on one tick, or on one run of it.
type Entry struct {
	// Job is its key (Job.Key); observers are told its name.
	Job  string
	Tick time.Time // nominal
	// Stream is the stream of claims that the tick belongs to, and Order what it
	// is claimed as there: the instant at which it was asked for. Both are zero in
	// the schedule, where a tick is claimed as itself.
	Stream string
	Order  time.Time
	// Token is that of the claim; zero if there was none.
	Token locking.Token
	// Attempt counts, in what a Store lists, the runs of the tick that began, from 1.
	// Observers are told that of the claim, which also counts claims whose function
	// was never called. Zero if there was none.
	Attempt int
	// Tries counts the calls of the function within the claim. Spent counts, of a
	// run that was handed over, the tries that failed by themselves, with those of
	// the attempts before it: they are not repeated.
	Tries, Spent int
	Trigger      Trigger
	// Parent is the id of the run that asked for this one, for ByChain.
	Parent  string
	Replica string
	Outcome Outcome
	// Reason says why a tick did not run, or why a run ended early.
	Reason Reason
	// Started and Finished are zero while they have not happened.
	Started  time.Time
	Finished time.Time
	Error    string
	// StaleWrites counts the run's writes that a guard refused, because the sink
	// had seen a larger token. Reason says it, too.
	StaleWrites int
	// Votes are those of the claim, and Poll is what each node said; zero if there
	// was none, or nobody knows.
	Votes locking.Votes
	Poll  locking.Poll
	// Beats are the extensions of the lease; nil if there were none.
	Beats *Beats
	// Hash is the version of the job (Job.Hash) as the replica knew it.
	Hash string
	// Computed: no replica recorded it, a listing has found that it is missing.
	Computed bool
}

// ID names a run: the same for every try and attempt of a tick, and of no other
// tick in any stream.
func (e Entry) ID() string {
	id := RunID(e.Job, e.OrderKey())
	if e.Stream != "" {
		id += "." + e.Stream
	}
	return id
}

// OrderKey is where the tick stands in its stream, and in listings.
func (e Entry) OrderKey() time.Time {
	if e.Order.IsZero() {
		return e.Tick
	}
	return e.Order
}

// Placed returns e, decoded from a note, as the entry of a job's tick that is
// kept under an order key of a stream.
func (e Entry) Placed(job, stream string, key time.Time) Entry {
	e.Job = job
	if stream != locking.StreamSchedule {
		e.Stream = stream
	}
	if e.Tick.IsZero() {
		e.Tick = key
	} else {
		e.Order = key
	}
	return e
}

// HandedOver tells whether e is a run that a drain has ended, and that another
// replica runs again: an Interrupted one whose end is known.
func (e Entry) HandedOver() bool { return e.Outcome == Interrupted && !e.Finished.IsZero() }
