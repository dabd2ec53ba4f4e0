package acts

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A Kind is the kind of an act.
type Kind string

// The kinds of acts. The first three are requests: they stay open until they are closed or
// expire. The others apply until the next one of the same target.
const (
	Trigger  Kind = "trigger"  // run the job once, now
	Backfill Kind = "backfill" // run the job's ticks of a time range
	Cancel   Kind = "cancel"   // end the context of a run
	Pause    Kind = "pause"    // skip the ticks of the target
	Resume   Kind = "resume"   // end a pause
)

// Request reports whether acts of the kind are open until they are closed.
func (k Kind) Request() bool {
	return k == Trigger || k == Backfill || k == Cancel
}

// Most bounds the open requests beside which another one of the kind is accepted, where open
// is [MaxOpen]. Cancels have as much room again: a full queue must not keep people from ending
// what holds it up. It is for implementations.
func (k Kind) Most(open int) int {
	if k == Cancel {
		return 2 * open
	}
	return open
}

// An Act is something that people ask of the whole cluster.
type Act struct {
	// ID identifies the act. Default: random. A caller that may have to ask twice chooses
	// the ID, and uses it for one act only; KeyID makes one from a user's key.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`

	// Job is the target: the name under which the nodes store the job (Job.Key). A pause or
	// resume has a Job, a Tag, or All.
	Job string `json:"job,omitempty"`
	Tag string `json:"tag,omitempty"`
	All bool   `json:"all,omitempty"`

	// By and Reason are for readers of the audit log. Pauses need both.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`

	// At is when the act was made, by the nodes' clocks, in whole milliseconds. No two
	// requests of a kind and job share it, and later requests have a later At: it is their
	// order, and the tick of a trigger's run. Do sets it.
	At time.Time `json:"at"`
	// Within is how long after At a request may be started. Default: DefaultWithin of its
	// kind.
	Within time.Duration `json:"within,omitempty"`

	// Params of a trigger, a JSON object, override those of the job, key by key.
	Params json.RawMessage `json:"params,omitempty"`
	// Trigger is why a run was triggered: ByManual, the default, or ByChain.
	Trigger ledger.Trigger `json:"trigger,omitempty"`
	// Parent is the id of the run that asked, for ByChain.
	Parent string `json:"parent,omitempty"`
	// From and To bound the ticks of a backfill: from From on, before To.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Concurrency bounds the concurrent runs of a backfill in the whole cluster, if the
	// job's runs may overlap (OverlapAllow). Default: 1.
	Concurrency int `json:"concurrency,omitempty"`
	// Run is the id of the run that is cancelled.
	Run string `json:"run,omitempty"`

	// Result is the result of a request, and Closed its time. Both are zero while it is
	// open. Close sets them.
	Result string    `json:"result,omitempty"`
	Closed time.Time `json:"closed,omitzero"`
}

// Bounds of acts.
const (
	// MaxOpen bounds the open requests; see [Kind.Most]. On several nodes competing requests
	// may exceed it by less than the places that were left.
	MaxOpen = 1000
	// MaxBackfill bounds the ticks of one backfill.
	MaxBackfill = 1000
	// MaxConcurrency bounds Act.Concurrency.
	MaxConcurrency = 100
	// MaxPauses bounds the current pauses.
	MaxPauses = 500
	// MaxText bounds By, Reason and Result of an act, in bytes.
	MaxText = 1 << 10
	// MaxName bounds its Job, Tag, Run and Parent, in bytes.
	MaxName = 300
	// MaxParams bounds its Params, in bytes.
	MaxParams = 16 << 10
	// KeepAudit is how many acts the audit log keeps at least.
	KeepAudit = 1000
	// KeepRefused is how many refused acts it keeps besides.
	KeepRefused = 200
)

// DefaultWithin is how long after it was made a request may be started.
func DefaultWithin(k Kind) time.Duration {
	switch k {
	case Trigger:
		return time.Hour
	case Backfill:
		return 24 * time.Hour
	case Cancel:
		return time.Minute
	}
	return 0
}

// Expires is when an open request expires.
func (a Act) Expires() time.Time { return a.At.Add(a.Within) }

// Target names the target in words.
func (a Act) Target() string {
	switch {
	case a.All:
		return "all jobs"
	case a.Tag != "":
		return "tag " + a.Tag
	}
	return a.Job
}

// Open is the set of acts in force at one moment.
type Open struct {
	// Pauses are those that were not resumed, by target.
	Pauses []Act
	// Requests are those that were not closed and have not expired, oldest first.
	Requests []Act
	// Expired are requests that expired within the last day and were not closed, oldest
	// first.
	Expired []Act
}

// Line names the series of the act: its Ats grow, and the last of its pauses and resumes
// counts. It is for implementations.
func (a Act) Line() string {
	switch {
	case a.Kind.Request():
		return string(a.Kind) + " " + a.Job
	case a.All:
		return "all"
	case a.Tag != "":
		return "tag " + a.Tag
	}
	return "job " + a.Job
}

// Last is the last instant of the act in its Line: a backfill has one for each of its
// ticks.
func (a Act) Last() time.Time {
	if a.Kind == Backfill {
		return a.At.Add((MaxBackfill - 1) * time.Millisecond)
	}
	return a.At
}

// Done returns the request closed, with its result; a long result is cut. It is for
// implementations.
func (a Act) Done(result string, at time.Time) Act {
	if len(result) > MaxText {
		result = strings.ToValidUTF8(result[:MaxText], "") + " …"
	}
	a.Result, a.Closed = result, at.Truncate(time.Millisecond).UTC()
	return a
}

// Sort sorts acts, the oldest first.
func Sort(acts []Act) {
	slices.SortStableFunc(acts, func(a, b Act) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
}

// Streams of requests. Each has its own order, that of the requests.
const (
	StreamManual   = "manual"   // triggers, by people and by other jobs
	StreamBackfill = "backfill" // ticks of the past
)
