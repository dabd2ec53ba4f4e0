package ledger

import (
	"time"

	"github.com/quorate/quorate/locking"
)

// An Outcome is how a tick or a run ended.
type Outcome string

// Outcomes of runs, the two of ticks that did not run, and that of a record that cannot be read.
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

	Unreadable Outcome = "unreadable" // its record cannot be read, for Reason
)

// Outcomes lists all outcomes.
func Outcomes() []Outcome {
	return []Outcome{Running, Succeeded, Failed, TimedOut, LeaseLost, Interrupted, Cancelled, Skipped, Missed, Unreadable}
}

// A Trigger is why a run began.
type Trigger string

// The triggers.
const (
	BySchedule Trigger = "schedule" // the tick came due
	ByCatchUp  Trigger = "catch_up" // it came due while no replica could run it
	ByRerun    Trigger = "rerun"    // its first replica died
	ByManual   Trigger = "manual"   // a person requested it
	ByBackfill Trigger = "backfill" // a person requested ticks of the past
	ByChain    Trigger = "chain"    // another job's run has ended
)

// Triggers lists all triggers.
func Triggers() []Trigger {
	return []Trigger{BySchedule, ByCatchUp, ByRerun, ByManual, ByBackfill, ByChain}
}

// An Entry is the ledger's record of one tick, or of one run of it.
type Entry struct {
	// Job is its key (Job.Key); observers get its name.
	Job  string
	Tick time.Time // nominal
	// Stream is the stream of claims that the tick belongs to, and Order its place there:
	// the time of the request. Both are zero in the schedule, where a tick is claimed as
	// itself.
	Stream string
	Order  time.Time
	// Token is the claim's; zero if there was none.
	Token locking.Token
	// Attempt counts, in what a Store lists, the runs of the tick that began, from 1.
	// Observers get that of the claim, which also counts claims without a call of the
	// function. Zero if there was none.
	Attempt int
	// Tries counts the calls of the function within the claim. For a run that was handed
	// over, Spent counts the tries that failed by themselves, also in earlier attempts:
	// they are not repeated.
	Tries, Spent int
	Trigger      Trigger
	// Parent is the id of the run that triggered this one, for ByChain.
	Parent  string
	Replica string
	Outcome Outcome
	// Reason says why a tick did not run, or why a run ended early.
	Reason Reason
	// Started and Finished are zero until then.
	Started  time.Time
	Finished time.Time
	Error    string
	// StaleWrites counts the run's writes that a guard refused because the sink had seen a
	// larger token. Reason has it, too.
	StaleWrites int
	Lease
	// Hash is the version of the job (Job.Hash) on the replica.
	Hash string
	// Computed: no replica recorded it; a listing has found that it is missing.
	Computed bool
}

// A Lease is what the nodes said to a run, and what became of earlier leases of its tick.
type Lease struct {
	// Votes are those of the claim, and Poll is each node's answer to it; zero if there
	// was no claim, or if they are unknown.
	Votes locking.Votes
	Poll  locking.Poll
	// Beats are the extensions; nil if there were none.
	Beats *Beats
	// Interruptions counts the earlier attempts of the tick whose replica lost the lease
	// without handing the tick over. InterruptedOn is the replica of the last of them.
	// Only lists of ticks have them.
	Interruptions int
	InterruptedOn string
}

// ID identifies a run: the same for every try and attempt of a tick, and of no other tick
// in any stream.
func (e Entry) ID() string {
	id := runID(e.Job, e.OrderKey())
	if e.Stream != "" {
		id += "." + e.Stream
	}
	return id
}

// OrderKey is the tick's place in its stream, and in listings.
func (e Entry) OrderKey() time.Time {
	if e.Order.IsZero() {
		return e.Tick
	}
	return e.Order
}

// Placed returns e, decoded from a note, as the entry of a job's tick with an order key of
// a stream.
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

// Ran reports whether the entry is that of a run. The function of a run may decide to skip, too.
func (e Entry) Ran() bool {
	return e.Outcome != Missed && (e.Outcome != Skipped && e.Outcome != Unreadable || e.Token != 0)
}

// Plain reports whether an entry of a tick has come to its end without any trouble: it is
// Succeeded, Skipped or Cancelled at the first attempt, and no guard refused a write.
func (e Entry) Plain() bool {
	return (e.Outcome == Succeeded || e.Outcome == Skipped || e.Outcome == Cancelled) && e.StaleWrites == 0 && e.Interruptions == 0
}

// HandedOver reports whether e is a run that a drain has ended and another replica runs
// again: an Interrupted one with a known end.
func (e Entry) HandedOver() bool { return e.Outcome == Interrupted && !e.Finished.IsZero() }
