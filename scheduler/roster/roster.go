// Package roster has what replicas publish of themselves and of the jobs that they serve, for one
// another and for listings, and the contract of the store that keeps it: [Roster] and [JobSets].
// All of it is a hint: only the claim decides which replica runs a tick.
package roster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Replica is one process of the cluster as it last described itself.
type Replica struct {
	ID string `json:"id"`
	// Instance is random, and another one for each process. Two that live at a time under one
	// ID differ in it. Empty from older releases.
	Instance string `json:"instance,omitempty"`
	// Program is the one that runs: the path of its main package, or the name of its file.
	Program string    `json:"program,omitempty"`
	Version string    `json:"version"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Seen is the time of its last heartbeat, by its own clock.
	Seen time.Time `json:"seen"`
	// State is "ready", "waiting" (for nodes or their grace), "skewed" (see
	// scheduler.Config.MaxClockOffset) or "draining"; in listings also "lost" or "left".
	State   string   `json:"state"`
	Running []string `json:"running"` // jobs it runs now
	// ConfigHash identifies the replica's set of jobs.
	ConfigHash string `json:"config_hash"`
	// Labels are matched with those that jobs require; see jobs.Job.Labels.
	Labels map[string]string `json:"labels,omitempty"`

	// ConfigSince is when it began to serve that set of jobs, by its own clock, and Jobs is
	// their number.
	ConfigSince time.Time `json:"config_since,omitzero"`
	Jobs        *int      `json:"jobs,omitempty"`
	// Won is the number of claims it has won since it started.
	Won *int64 `json:"won,omitempty"`
	// ClockOffset is how far its clock is ahead of the median of the nodes' clocks. Nil:
	// unknown.
	ClockOffset *time.Duration `json:"clock_offset,omitempty"`
}

// Process tells the processes apart that replicas are, also those with one ID. An ID has no spaces.
func (r Replica) Process() string {
	if r.Instance == "" {
		return r.ID
	}
	return r.ID + " " + r.Instance
}

// Successors returns the list, sorted by ID, without processes that another one with their ID has
// succeeded: it started after they were last seen.
func Successors(list []Replica) []Replica {
	latest := map[string]Replica{} // by ID: the one that has started last
	for _, r := range list {
		if have, ok := latest[r.ID]; !ok || r.Started.After(have.Started) {
			latest[r.ID] = r
		}
	}
	list = slices.DeleteFunc(list, func(r Replica) bool {
		by := latest[r.ID]
		return by.Process() != r.Process() && (by.Started.After(r.Seen) || r.State == StateLost && by.State != StateLost)
	})
	slices.SortFunc(list, func(a, b Replica) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), a.Started.Compare(b.Started), strings.Compare(a.Instance, b.Instance))
	})
	return list
}

// A JobInfo is the published form of one version of a job, for listings without the
// configuration.
type JobInfo struct {
	Name string `json:"name"`
	// Key is the name under which the nodes store the job's data: its name before it was
	// renamed. Empty: Name.
	Key string `json:"key,omitempty"`
	// Hash identifies the version of the job.
	Hash        string `json:"hash,omitempty"`
	Func        string `json:"func"`
	Schedule    string `json:"schedule"`
	Timezone    string `json:"timezone"`
	Description string `json:"description"`
	// Tags, and whether the configuration pauses the job.
	Tags   []string `json:"tags,omitempty"`
	Paused bool     `json:"paused,omitempty"`
	// Definition is the schedule for ParseDefinition; empty if it has none, or one longer
	// than MaxDefinition.
	Definition string `json:"definition,omitempty"`
	// Jitter is the job's jitter.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Params are those that a request may have; nil: unknown.
	Params *jobs.Shape `json:"params,omitempty"`
	// Replica last published this version, at Published by its own clock, as
	// part of the set of jobs that ConfigHash stands for.
	Replica   string    `json:"replica"`
	Published time.Time `json:"published"`
	// Since is when a replica began to serve this version, by its own clock, without
	// another version in between.
	Since      time.Time `json:"since,omitzero"`
	ConfigHash string    `json:"config_hash,omitempty"`
	// Account is the account of this version. A Roster stores the Merge of all that were
	// published.
	Account Account `json:"-"`
	// Age is the time since Published, by the nodes' clocks. Only Roster.Jobs sets it.
	Age time.Duration `json:"-"`
}

// StoredAs is the name under which the nodes keep the job's claims and ledger.
func (j JobInfo) StoredAs() string { return cmp.Or(j.Key, j.Name) }

// MaxDefinition bounds the bytes of a published definition.
const MaxDefinition = 16 << 10

// Ticks returns the published schedule of the job, or ErrNoDefinition.
func (j JobInfo) Ticks() (schedule.Schedule, error) {
	if j.Definition == "" {
		return nil, schedule.ErrNoDefinition
	}
	return schedule.ParseDefinition(j.Definition)
}

// Start is when the given tick of the job starts: its nominal time plus jitter. s is the
// job's schedule.
func (j JobInfo) Start(s schedule.Schedule, at time.Time) time.Time {
	if j.Jitter <= 0 {
		return at
	}
	return j.planned(s).Start(at)
}

// Coming returns the next n ticks of the job that start after from; with excluded, also those that
// calendars remove, which count. s is the job's schedule. The nominal time of the first may be
// before from: jitter delays its start.
func (j JobInfo) Coming(s schedule.Schedule, from time.Time, n int, excluded bool) []schedule.Planned {
	return j.planned(s).Coming(from, n, excluded)
}

// planned is the job with the fields that decide when its ticks start.
func (j JobInfo) planned(s schedule.Schedule) *job.Job {
	return &job.Job{Job: jobs.Job{Name: j.Name, Key: j.Key, Schedule: s, Jitter: j.Jitter}}
}

const (
	// SeenLately is how long a replica stays on the roster after its last beat.
	SeenLately = 15 * time.Second
	// RememberLost is how long listings know a replica that fell silent without leaving.
	RememberLost = 24 * time.Hour
	// MostLost is how many of them listings know.
	MostLost = 100
	// RememberLeft is how long listings know a replica that left.
	RememberLeft = 24 * time.Hour
	// MostLeft is how many of them listings know, beside the lost ones: many roll-outs displace none
	// of those.
	MostLeft = 100
)

// Lost returns the replica as one that fell silent without leaving.
func (r Replica) Lost() Replica {
	r.State, r.Running = StateLost, nil
	return r
}

// Left returns the replicas of a list that left, as listings show them: the last of each ID, and the
// latest MostLeft of them, newest first. Seen is when they left.
func Left(list []Replica) []Replica {
	slices.SortStableFunc(list, func(a, b Replica) int { return b.Seen.Compare(a.Seen) })
	left, known := []Replica{}, map[string]bool{}
	for _, r := range list {
		if !known[r.ID] && len(left) < MostLeft {
			r.State, r.Running = StateLeft, nil
			left, known[r.ID] = append(left, r), true
		}
	}
	return left
}

// A Roster knows the live replicas and their jobs. It is a hint: only the claim decides
// which replica runs a tick.
type Roster interface {
	// Beat announces self, sets its Seen to now, and returns the replicas seen
	// lately, self included.
	Beat(ctx context.Context, self Replica) ([]Replica, error)
	// Leave removes self, and no other process with its ID. Listings may remember that it left.
	Leave(ctx context.Context, self Replica) error
	// Replicas lists the replicas seen lately, sorted by ID. Several processes may have the
	// same one; those that another has succeeded are left out; see Successors.
	Replicas(ctx context.Context) ([]Replica, error)
	// Publish publishes versions of jobs. A version is one Name and Hash.
	Publish(ctx context.Context, list []JobInfo) error
	// Unpublish removes versions. A replica that still serves one publishes it again.
	Unpublish(ctx context.Context, list []JobInfo) error
	// Jobs lists the published versions, sorted by name, then the last published first.
	Jobs(ctx context.Context) ([]JobInfo, error)
}

// CheckParams returns a *commands.Error if the published job refuses the params of a request.
// Unpublished rules are checked when the run begins.
func (j JobInfo) CheckParams(params json.RawMessage) error {
	if j.Params == nil || len(params) == 0 {
		return nil
	}
	given, err := commands.DecodeParams(params)
	if err == nil {
		err = j.Params.Check(given)
	}
	if err != nil {
		return &commands.Error{Kind: commands.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

// PausedBy says in words why the published job's ticks are skipped under the given pauses,
// "" if they are not.
func (j JobInfo) PausedBy(pauses []commands.Command, tick time.Time) string {
	of := job.Job{Job: jobs.Job{Name: j.Name, Key: j.Key, Tags: j.Tags, Paused: j.Paused}}
	return of.PausedFor(commands.Open{Pauses: pauses}, tick).String()
}

// States of a replica.
const (
	StateReady    = "ready"
	StateWaiting  = "waiting" // for a quorum, or for the nodes' grace
	StateSkewed   = "skewed"  // its clock is off by more than scheduler.Config.MaxClockOffset: it tries last
	StateDraining = "draining"
	StateStopped  = "stopped" // not started yet, or returned
	StateLost     = "lost"    // silent for SeenLately, and it did not leave: only listings see it
	StateLeft     = "left"    // it left the roster: only listings of former replicas see it
)

// A Version is one version of a job in listings: one that replicas serve now or, if there
// is none, the last one.
type Version struct {
	JobInfo
	Live bool // a replica serves it now
	// Drift: live replicas serve different versions of the job.
	Drift bool
}

// An Account says from when on every tick of a job has an entry. The zero Account knows
// nothing. If part of one is lost, replicas only look further back.
type Account struct {
	// First is when a replica that served the job first could run its ticks. Earlier ones are
	// not accounted for.
	First time.Time
	// Until: every earlier tick has an entry in the ledger, or needs none.
	Until time.Time
	// Stopped is when the last replica drained while no other one lived.
	Stopped time.Time
	// Removed is when the last replica that served the job took it out of its
	// configuration. Later ticks need no entry until a replica serves the job again.
	Removed time.Time
}

// Merge combines two accounts of one job.
func (a Account) Merge(b Account) Account {
	if a.First.IsZero() || !b.First.IsZero() && b.First.Before(a.First) {
		a.First = b.First
	}
	a.Until = slices.MaxFunc([]time.Time{a.Until, b.Until}, time.Time.Compare)
	a.Stopped = slices.MaxFunc([]time.Time{a.Stopped, b.Stopped}, time.Time.Compare)
	a.Removed = slices.MaxFunc([]time.Time{a.Removed, b.Removed}, time.Time.Compare)
	return a
}
