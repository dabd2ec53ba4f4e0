package scheduler

import "strings"

// A Class is one word for why a tick did not run, or why a run ended as it did:
// of the many Reasons an Entry may have, one of a few. Metrics count by it.
type Class string

// The classes of ticks that did not run.
const (
	ClassOverlap     Class = "overlap"    // an earlier run went on
	ClassPaused      Class = "paused"     // by somebody, or in the configuration
	ClassLimit       Class = "limit"      // of a group, or of the replica
	ClassPlacement   Class = "placement"  // no live replica has the labels
	ClassCatchUp     Class = "catch_up"   // the policy did not catch it up
	ClassNoQuorum    Class = "no_quorum"  // too few nodes answered
	ClassSplit       Class = "split"      // competitors divided the votes until it was too late
	ClassTooSlow     Class = "too_slow"   // the nodes answered too late
	ClassClock       Class = "clock"      // the replica's clock is ahead of the nodes'
	ClassSuperseded  Class = "superseded" // a later tick was claimed first
	ClassUnvouched   Class = "unvouched"  // too few nodes remember that far
	ClassRefused     Class = "refused"    // the nodes refuse this replica
	ClassUndecided   Class = "undecided"  // a claim was begun and never completed
	ClassDrained     Class = "drained"    // the replica drained; of runs, too
	ClassBehind      Class = "behind"     // an earlier tick was still being decided
	ClassTooLate     Class = "too_late"   // the claim came too late to begin
	ClassAsleep      Class = "asleep"     // the replica was asleep, stopped or too busy
	ClassNoReplica   Class = "no_replica" // none was running
	ClassUnknown     Class = "unknown"
	ClassHistoryLost Class = "history_lost"
	ClassStarting    Class = "starting"
	ClassRemoved     Class = "removed"     // the job was taken out of the configuration
	ClassRescheduled Class = "rescheduled" // its schedule was changed
	ClassExpired     Class = "expired"     // a request that nobody could begin in time
	ClassCancelled   Class = "cancelled"   // somebody ended it; of runs, too
)

// The classes of runs, besides ClassDrained and ClassCancelled. Runs that
// succeeded, failed or timed out have none.
const (
	ClassFunction Class = "function" // it decided to skip its work
	ClassReplaced Class = "replaced" // by a later tick
	ClassMaxHold  Class = "max_hold" // it took longer than lock.max_hold
	ClassEvicted  Class = "evicted"  // an operator released its lease
	ClassLost     Class = "lost"     // its lease could not be kept
)

// ClassOther is that of Reasons which this release does not know.
const ClassOther Class = "other"

// Classes lists all of them.
func Classes() []Class {
	list := []Class{ClassFunction, ClassReplaced, ClassMaxHold, ClassEvicted, ClassLost, ClassOther}
	for _, b := range beginnings() {
		list = append(list, b.class)
	}
	return list
}

// A beginning is how the Reasons of a class begin.
type beginning struct {
	text  string
	class Class
}

// beginnings are those of the Reasons of ticks that did not run.
func beginnings() []beginning {
	return []beginning{
		{"overlap:", ClassOverlap},
		{"paused", ClassPaused},
		{"limit:", ClassLimit},
		{"placement:", ClassPlacement},
		{catchUpWord, ClassCatchUp},
		{"no quorum", ClassNoQuorum},
		{"split vote:", ClassSplit},
		{"too slow:", ClassTooSlow},
		{"clock:", ClassClock},
		{"superseded:", ClassSuperseded},
		{"unvouched:", ClassUnvouched},
		{"refused:", ClassRefused},
		{"undecided:", ClassUndecided},
		{whyDrained, ClassDrained},
		{whyBehind, ClassBehind},
		{whyTooLate, ClassTooLate},
		{whyOverslept, ClassAsleep},
		{whyNobody, ClassNoReplica},
		{whyHistoryLost, ClassHistoryLost},
		{"unknown:", ClassUnknown},
		{"starting:", ClassStarting},
		{whyRemoved, ClassRemoved},
		{whyRescheduled, ClassRescheduled},
		{"expired:", ClassExpired},
		{"cancelled", ClassCancelled},
	}
}

// Class returns the class of e.Reason, empty where the outcome says it all.
func (e Entry) Class() Class {
	switch {
	case e.Outcome == Skipped && e.Tries > 0:
		return ClassFunction
	case e.Outcome == Skipped, e.Outcome == Missed:
		return e.classOfNoRun()
	case e.Outcome == LeaseLost:
		return e.classOfLoss()
	case e.Outcome == Cancelled:
		return e.classOfEnd()
	}
	return ""
}

func (e Entry) classOfNoRun() Class {
	for _, b := range beginnings() {
		if strings.HasPrefix(e.Reason, b.text) {
			return b.class
		}
	}
	return ClassOther
}

func (e Entry) classOfLoss() Class {
	switch {
	case strings.HasPrefix(e.Reason, whyMaxHold):
		return ClassMaxHold
	case strings.HasPrefix(e.Reason, whyEvicted):
		return ClassEvicted
	}
	return ClassLost
}

func (e Entry) classOfEnd() Class {
	switch {
	case strings.HasPrefix(e.Reason, whyDrainedRun):
		return ClassDrained
	case strings.Contains(e.Reason, replacement):
		return ClassReplaced
	}
	return ClassCancelled
}

// Outcomes lists those that the class goes with.
func (c Class) Outcomes() []Outcome {
	switch c {
	case ClassFunction:
		return []Outcome{Skipped}
	case ClassMaxHold, ClassEvicted, ClassLost:
		return []Outcome{LeaseLost}
	case ClassReplaced:
		return []Outcome{Cancelled}
	case ClassDrained:
		return []Outcome{Missed, Cancelled}
	case ClassCancelled:
		return []Outcome{Skipped, Cancelled}
	case ClassOverlap, ClassPaused, ClassRemoved, ClassRescheduled:
		return []Outcome{Skipped}
	case ClassLimit, ClassOther:
		return []Outcome{Skipped, Missed}
	}
	return []Outcome{Missed}
}
