// Package event has what a replica tells its observers: an [Event] for each step of a tick, for
// changes of the jobs, and for trouble of the replica. Logs, metrics, traces, webhooks and live
// pages are observers.
package event

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// An Observer receives each event. The engine and runs call it from their goroutines. It
// must not block or call the Scheduler. Logs, metrics and live views are observers.
type Observer func(Event)

// An Event is one thing that happened. It is one struct with a Kind, because most events
// concern one tick: every observer finds the job, the tick and the token in the same place.
// The documentation of each kind names the fields that it sets besides Entry; the others
// are zero.
type Event struct {
	Kind Kind
	// Entry is what is known of the tick or run. Its Outcome is empty until it is known,
	// and Running during the run. Events of a job without a tick set Entry.Job alone;
	// events of the replica set nothing.
	Entry ledger.Entry
	// Run is the id of the run (jobs.Run.ID); empty before a tick is claimed.
	Run string
	// Err is why the step failed; nil: it succeeded. The error of the function is in
	// Entry.Error.
	Err error
	// Call is the number of the call of the function, as in jobs.Run.Call.
	Call int

	Took time.Duration // how long the step took
	Left time.Duration // how much longer the lease would have lasted when the step began
	By   time.Duration // how late, or by how much
	In   time.Duration // the pause before the next try

	Deadline      time.Time // of the lease
	Since, Before time.Time

	Triggers string   // the key of the job to run next
	Other    string   // another replica, and where it runs
	Jobs     []string // names of jobs, sorted
	Diff     Diff     // how the jobs changed
	Running  []string // the jobs that still run
}

// ErrDropped is the Err of a Recorded whose tick never reached the ledger, and of a Settled whose
// tick was recorded and not looked at again: too many waited.
var ErrDropped = errors.New("outcome was not recorded")

// A Kind is the kind of an Event.
type Kind string

// Events in the life of one tick, in the order in which they may come.
const (
	// Tried: a try to claim the tick has ended. Sets Took, and Err if the claim was
	// not granted, usually an *locking.AcquireError.
	Tried Kind = "tried"
	// Retrying: the claim failed for a reason that may pass. Sets Err and In.
	Retrying Kind = "retrying"
	// Lost: another replica runs, or ran, the tick. Sets Err.
	Lost Kind = "lost"
	// Claimed: this replica won the tick. Started follows, or Unused.
	// Sets Took, the time from the first message of the winning attempt.
	Claimed Kind = "claimed"
	// Unused: the claim came too late to begin the work and is given back.
	// Decided follows, and not Finished.
	Unused Kind = "unused"
	// Started: the function is about to be called. Sets By, how long after the time of
	// the tick, without jitter.
	Started Kind = "started"
	// Late: the run starts later than jobs.Job.LateAfter allows. Sets By.
	Late Kind = "late"
	// Extended: the lease of the run was extended, or not. Sets Deadline, Left,
	// Took and Err. The last of Entry.Beats is this one.
	Extended Kind = "extended"
	// Retried: a call of the function failed, and it is called again under the same
	// claim. Sets Try, the call that failed, Err, its error, and In. The run's Logger has
	// logged it.
	Retried Kind = "retried"
	// Refused: a guard refused a write of the run. Err is the *fence.StaleError. The
	// run's Logger has logged it.
	Refused Kind = "refused"
	// LeaseLost: the context of the run has ended because its lease could not
	// be kept. Sets Err. Finished follows when the function has returned.
	LeaseLost Kind = "lease_lost"
	// Overdue: the function ignores its ended context. Sets Since.
	Overdue Kind = "overdue"
	// Chained: the end of the run triggered another job, or, with Err, failed to. Sets
	// Triggers.
	Chained Kind = "chained"
	// Released: the lease of a run that has ended was given back, or, with Err, was
	// not. Sets Took, and Left, which is negative if the lease had expired. Finished
	// follows.
	Released Kind = "released"
	// Finished: a run ended as Entry.Outcome says. With Err the ledger may not have
	// it.
	Finished Kind = "finished"
	// NotArchived: the log of the run could not be stored. Sets Err.
	NotArchived Kind = "not_archived"
	// Decided: the tick does not run on this replica, for Entry.Reason. Every replica that
	// decides so sends it.
	Decided Kind = "decided"
	// Recorded: the ledger has stored a tick that did not run, or, with Err, has not.
	Recorded Kind = "recorded"
	// Settled: this replica was the first to record a tick that nobody ran, and whose window
	// has closed for every replica. One replica of the cluster sends it, once it has read
	// the ledger. With Err it has not, and nobody knows whether the tick ran. Needs
	// scheduler.Config.NotifySettled.
	Settled Kind = "settled"
)

// Events of a job or of the replica.
const (
	// Overslept: ticks of the job from Since on and before Before were not noticed in
	// time, and are too many to record one by one.
	Overslept Kind = "overslept"
	// Unread: the ledger could not be read, so missed ticks of the job are not known
	// and not caught up. Sets Err.
	Unread Kind = "unread"
	// Forgotten: the stored data of a job that no replica has served since Since was
	// deleted. With Err it was not, and it is tried again.
	Forgotten Kind = "forgotten"
	// Updated: the jobs have changed. Sets Diff.
	Updated Kind = "updated"
	// UpdateFailed: new jobs could not be read, are not valid or may be half written, and the
	// old ones stay. Sets Err. It is sent again when the reason changes, and without Err when the
	// jobs are valid again.
	UpdateFailed Kind = "update_failed"
	// ClockJumped: wall and monotonic clock moved apart: the machine was suspended, or
	// the clock was set. Sets By, positive if the wall clock went ahead.
	ClockJumped Kind = "clock_jumped"
	// Twin: another process lives under the ID of this replica. It is sent once for each.
	// Sets Other.
	Twin Kind = "twin"
	// Stranger: another live replica has jobs with the names of Jobs, and they are not those of
	// this replica: another program runs, or they are defined in another way. Since then no
	// replica has started, stopped or changed its jobs. It is sent once for each such set of
	// jobs, also for one that is too large to be compared. Sets Other, Jobs and Since, or Err.
	Stranger Kind = "stranger"
	// Draining: no new ticks are claimed. Sets Running.
	Draining Kind = "draining"
)

// A Diff is what an update changes. Every list is sorted by the names that the jobs have
// afterwards; for removed jobs, before.
type Diff struct {
	Added   []string
	Changed []string // the same job with another Hash
	Renamed []Rename // the same Key under another name; also in Changed if more changes
	Removed []string
	// Settings returns the jobs.Job.Settings of a job in Changed, before and after.
	Settings func(job string) (before, after any)
}

// A Rename is a job with a new name.
type Rename struct{ From, To string }

// Empty reports whether nothing changes.
func (d Diff) Empty() bool {
	return len(d.Added)+len(d.Changed)+len(d.Renamed)+len(d.Removed) == 0
}

// String lists what changes in one line.
func (d Diff) String() string {
	var parts []string
	say := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	say("added", d.Added)
	say("changed", d.Changed)
	for _, r := range d.Renamed {
		parts = append(parts, fmt.Sprintf("renamed %s to %s", r.From, r.To))
	}
	say("removed", d.Removed)
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, "; ")
}
