package ledger

import (
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Code says why a tick did not run, or why a run ended as it did. Metrics count by it and
// listings filter by it.
type Code string

// The codes of ticks that did not run.
const (
	CodeOverlap     Code = "overlap"     // an earlier run had not ended
	CodePaused      Code = "paused"      // by a person, or in the configuration
	CodeLimit       Code = "limit"       // of a group, or of the replica
	CodePlacement   Code = "placement"   // no live replica has the labels
	CodeCatchUp     Code = "catch_up"    // the policy did not catch it up; With says why it was missed
	CodeNoQuorum    Code = "no_quorum"   // the store, or too few of its nodes, answered
	CodeSplit       Code = "split"       // competitors blocked one another until it was too late
	CodeTooSlow     Code = "too_slow"    // a claim was complete too late
	CodeClock       Code = "clock"       // the replica's clock is ahead of the store's
	CodeSuperseded  Code = "superseded"  // a later tick was claimed first
	CodeUnvouched   Code = "unvouched"   // the store may have forgotten it
	CodeRefused     Code = "refused"     // the store refuses the claim
	CodeUndecided   Code = "undecided"   // a claim was begun and never completed
	CodeDrained     Code = "drained"     // the replica drained; of runs, too
	CodeBehind      Code = "behind"      // an earlier tick was still being decided
	CodeTooLate     Code = "too_late"    // the claim came too late to begin
	CodeAsleep      Code = "asleep"      // the replica was asleep, stopped or too busy
	CodeNoReplica   Code = "no_replica"  // no replica was known to serve the job
	CodeStarting    Code = "starting"    // the replica did not know yet what is paused
	CodeRemoved     Code = "removed"     // the job was taken out of the configuration
	CodeRescheduled Code = "rescheduled" // its schedule was changed
	CodeExpired     Code = "expired"     // a request that nobody could begin in time
	CodeCancelled   Code = "cancelled"   // somebody ended it; of runs, too

	CodeUnknown        Code = "unknown"         // the reason is unknown
	CodeHistoryLost    Code = "history_lost"    // nodes may have lost what they knew of it
	CodeHistoryTrimmed Code = "history_trimmed" // its entry was dropped
	CodeUnreadable     Code = "unreadable"      // its entry, or a part of it, cannot be read
)

// The codes of runs, besides CodeDrained and CodeCancelled.
const (
	CodeFunction    Code = "function"    // it decided to skip its work
	CodeReplaced    Code = "replaced"    // by a later tick
	CodeMaxHold     Code = "max_hold"    // it took longer than lock.max_hold
	CodeEvicted     Code = "evicted"     // an operator released its lease
	CodeLost        Code = "lost"        // its lease could not be kept
	CodeTimeout     Code = "timeout"     // it, or its last try, took too long
	CodeInterrupted Code = "interrupted" // its end was not recorded
)

// The codes of additional reasons.
const (
	CodeNoRetry      Code = "no_retry"      // the policy had allowed another try
	CodeStaleWrites  Code = "stale_writes"  // a guard refused writes
	CodeNotTriggered Code = "not_triggered" // a job that should follow was not triggered
	CodeLateEnd      Code = "late_end"      // it ended when other replicas could already work
	CodeAlike        Code = "alike"         // earlier ticks without an entry, too
)

// CodeOther is for reasons without their own code.
const CodeOther Code = "other"

// Codes lists all of them.
func Codes() []Code {
	var list []Code
	for _, s := range sentences {
		if !slices.Contains(list, s.code) {
			list = append(list, s.code)
		}
	}
	return list
}

// Outcomes lists the outcomes that the code explains; none for additional reasons.
func (c Code) Outcomes() []Outcome {
	switch c {
	case CodeFunction, CodeOverlap, CodePaused, CodeRemoved, CodeRescheduled:
		return []Outcome{Skipped}
	case CodeMaxHold, CodeEvicted, CodeLost:
		return []Outcome{LeaseLost}
	case CodeReplaced:
		return []Outcome{Cancelled}
	case CodeTimeout:
		return []Outcome{TimedOut}
	case CodeInterrupted:
		return []Outcome{Interrupted}
	case CodeUnreadable:
		return []Outcome{Unreadable}
	case CodeDrained:
		return []Outcome{Missed, Cancelled, Interrupted}
	case CodeCancelled:
		return []Outcome{Skipped, Cancelled}
	case CodeLimit:
		return []Outcome{Skipped, Missed}
	case CodeOther:
		return []Outcome{Skipped, Missed, Cancelled}
	case CodeNoRetry, CodeStaleWrites, CodeNotTriggered, CodeLateEnd, CodeAlike:
		return nil
	}
	return []Outcome{Missed}
}

// A Reason is a code with details. The zero Reason is none. A Reason is never changed, only
// replaced.
type Reason struct {
	Code    Code
	Variant Variant  // distinguishes cases with their own words
	Details *Details // nil: none
}

// A Variant is one of several cases of a Code.
type Variant string

// The variants. Most codes have one case, with an empty variant.
const (
	VariantUnended    Variant = "unended"     // of CodeOverlap: the run did not end, and no node knows its lease
	VariantQueue      Variant = "queue"       // of CodeOverlap: another tick began to wait
	VariantNoLease    Variant = "no_lease"    // of CodeOverlap: the function still runs, without a lease
	VariantConfigured Variant = "configured"  // of CodePaused: in the configuration
	VariantMaxRunning Variant = "max_running" // of CodeLimit: of the replica
	VariantFull       Variant = "full"        // of CodeLimit: all slots of the group are held
	VariantTaken      Variant = "taken"       // of CodeLimit: some are held, competitors try for the rest
	VariantInLine     Variant = "in_line"     // of CodeLimit: others on the replica go first
	VariantSlot       Variant = "slot"        // of CodeLimit: With says why none was granted; of CodeLost: it was the slot's lease
	VariantWaiting    Variant = "waiting"     // of CodeLimit and CodeCancelled: while the tick waited for a slot
	VariantLast       Variant = "last"        // of CodeCatchUp: only the last tick is caught up
	VariantMax        Variant = "max"         // of CodeCatchUp: there are too many
	VariantWindow     Variant = "window"      // of CodeCatchUp: it is too late
	VariantNodes      Variant = "nodes"       // of CodeClock: clocks of nodes are ahead
	VariantStore      Variant = "store"       // of CodeNoQuorum and CodeClock: a store without nodes
	VariantHolder     Variant = "holder"      // of CodeUndecided: another replica's claim
	VariantUnclaimed  Variant = "unclaimed"   // of CodeUndecided: another replica's lock, without a claim
	VariantRequest    Variant = "request"     // of CodeSuperseded: by a later request
	VariantRun        Variant = "run"         // of CodeDrained: a run
	VariantHandedOver Variant = "handed_over" // of CodeDrained: a run that another replica runs again
	VariantTry        Variant = "try"         // of CodeTimeout: the last try
	VariantDrain      Variant = "drain"       // of CodeNoRetry: the replica drains
	VariantDoubtful   Variant = "doubtful"    // of CodeInterrupted: it may not have started
	VariantClaim      Variant = "claim"       // of CodeOther: the claim failed for an unknown cause
)

// Details are the details of one case, each empty if the code does not use it. The ledger
// cuts long texts.
type Details struct {
	Holder       string    // of the blocking lease or slots; several with commas
	Tick         time.Time // of the run that blocks or replaces this one
	Since, Until time.Time
	By           string // the person who requested it
	Of           string // what it is about: a group, a tag, labels, a job, a resource
	N, Most      int    // a number, and its limit or total
	Token, Seen  locking.Token
	Text         string  // what people, functions or nodes said
	With         *Reason // the reason behind this one, or an additional one
}

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r == Reason{} }

// TextReason is a reason with words only.
func TextReason(words string) Reason { return Reason{Code: CodeOther, Details: &Details{Text: words}} }

// with returns the reason behind r, or an additional one, nil if there is none.
func (r Reason) with() *Reason {
	if r.Details == nil {
		return nil
	}
	return r.Details.With
}

// Has reports whether r, or a reason that comes with it, has the code.
func (r Reason) Has(code Code) bool {
	for p := &r; p != nil; p = p.with() {
		if p.Code == code {
			return true
		}
	}
	return false
}

// And returns r with an additional reason; more alone if r is none.
func (r Reason) And(more Reason) Reason {
	switch {
	case r.IsZero():
		return more
	case more.IsZero():
		return r
	}
	d := &Details{}
	if r.Details != nil {
		*d = *r.Details
	}
	with := more // a copy, so runs without one allocate nothing
	if d.With != nil {
		with = d.With.And(more)
	}
	d.With = &with
	r.Details = d
	return r
}
