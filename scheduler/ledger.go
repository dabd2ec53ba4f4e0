package scheduler

import (
	"context"
	"slices"
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
	// Token and Attempt are those of the claim; zero if there was none.
	Token   locking.Token
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

// named returns e as observers are shown it: with the name of the job, under
// which the nodes may not know it.
func (e Entry) named(job string) Entry {
	e.Job = job
	return e
}

// RunID names the run of a scheduled tick: deterministic, so that whoever meets
// a half-done run can tell which one it was. In other streams Entry.ID does.
func RunID(job string, tick time.Time) string {
	var space [128]byte
	return string(appendStamp(append(append(space[:0], job...), '@'), tick))
}

// appendStamp appends what t.UTC().Format("20060102T150405.000Z") writes, in a
// fraction of the time: every run has an id.
func appendStamp(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, "20060102T150405.000Z")
	}
	b = appendDigits(b, 10*1000*year+100*int(month)+day, 8)
	b = append(b, 'T')
	b = appendDigits(b, 10*1000*hour+100*minute+second, 6)
	b = append(b, '.')
	b = appendDigits(b, t.Nanosecond()/int(time.Millisecond), 3)
	return append(b, 'Z')
}

// appendDigits appends n with zeros in front.
func appendDigits(b []byte, n, digits int) []byte {
	for range digits {
		b = append(b, '0')
	}
	for i := len(b) - 1; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
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

// A Query selects entries of one job, in all streams, newest order key first.
type Query struct {
	Job   string
	Limit int // at most so many; required
	// Before, unless zero, leaves out ticks whose order key is not before it; Since
	// those whose order key is.
	Before, Since time.Time
	// Outcomes and Triggers, unless empty, leave out entries with others.
	Outcomes []Outcome
	Triggers []Trigger
	// Reasons, unless empty, leave out entries whose Reason has none of these codes.
	Reasons []Code
}

// Wants tells whether the query asks for an entry like e of its job.
func (q Query) Wants(e Entry) bool {
	return (q.Before.IsZero() || e.OrderKey().Before(q.Before)) && !e.OrderKey().Before(q.Since) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, e.Outcome)) &&
		(len(q.Triggers) == 0 || slices.Contains(q.Triggers, e.Trigger)) &&
		(len(q.Reasons) == 0 || slices.ContainsFunc(q.Reasons, e.Reason.Has))
}

// Filters tells whether entries may be left out for what they say.
func (q Query) Filters() bool {
	return len(q.Outcomes)+len(q.Triggers)+len(q.Reasons) > 0
}

// A Ledger keeps what became of every tick. Runs enter it with the claim and
// its release, which carry an encoded Entry as their note (EncodeNote), so a
// Ledger reads what a Locker wrote.
type Ledger interface {
	// Record notes a tick that did not run. Of several records of a tick the one stays
	// that outranks the others.
	// It returns no error when a quorum has it, locking.ErrNoQuorum otherwise;
	// recording again is harmless. One replica is told that its record was the first of
	// the tick; none if it died before it heard that.
	Record(ctx context.Context, e Entry) (first bool, err error)

	// Runs returns one entry per claim of the job's ticks.
	// A start without a finish is Running while its lease lasts, then
	// Interrupted. It returns locking.ErrNoQuorum when too few nodes answered
	// to be sure of every entry.
	Runs(ctx context.Context, q Query) ([]Entry, error)

	// Ticks returns one entry per tick of each stream: its last run if any, otherwise what was
	// recorded, a skip before a miss.
	Ticks(ctx context.Context, q Query) ([]Entry, error)
}
