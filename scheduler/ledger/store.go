package ledger

import (
	"context"
	"slices"
	"time"
)

// A Query selects entries of one job, in all streams, newest order key first.
type Query struct {
	Job   string
	Limit int // at most so many; required
	// Before, unless zero, omits ticks whose order key is not before it; Since those whose
	// order key is.
	Before, Since time.Time
	// Outcomes and Triggers, unless empty, omit entries with others.
	Outcomes []Outcome
	Triggers []Trigger
	// Reasons, unless empty, omit entries without any of these codes.
	Reasons []Code
}

// Wants reports whether the query selects an entry like e of its job.
func (q Query) Wants(e Entry) bool {
	return (q.Before.IsZero() || e.OrderKey().Before(q.Before)) && !e.OrderKey().Before(q.Since) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, e.Outcome)) &&
		(len(q.Triggers) == 0 || slices.Contains(q.Triggers, e.Trigger)) &&
		(len(q.Reasons) == 0 || slices.ContainsFunc(q.Reasons, e.Reason.Has))
}

// Filters reports whether the query selects by contents.
func (q Query) Filters() bool {
	return len(q.Outcomes)+len(q.Triggers)+len(q.Reasons) > 0
}

// A Store keeps the outcome of every tick. Runs enter it with the claim and its release,
// which carry an encoded Entry as their note (EncodeNote), so a Store reads what a Locker
// wrote.
type Store interface {
	// Record stores a tick that did not run. The record with the highest rank stays. It
	// returns no error when a quorum has it, locking.ErrNoQuorum otherwise; recording again
	// is harmless. At most one replica learns that its record was the first of the tick.
	Record(ctx context.Context, e Entry) (first bool, err error)

	// Runs returns one entry per claim of the job's ticks.
	// A start without a finish is Running while its lease lasts, then
	// Interrupted. It returns locking.ErrNoQuorum when too few nodes answered
	// to be sure of every entry.
	Runs(ctx context.Context, q Query) ([]Entry, error)

	// Ticks returns one entry per tick of each stream: its last run, or its record if it
	// did not run.
	Ticks(ctx context.Context, q Query) ([]Entry, error)
}
