package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Acts keeps what was asked of the whole cluster: to run a job now, to pause it,
// to run ticks of the past, to stop a run. What Do has returned without an error
// is in what every later Open returns, on every replica, also after all of them
// were restarted; a few seconds later where somebody fell silent in the middle of
// asking for the same before.
//
// Acts says what is to be tried. That a request runs once is the Locker's claim.
type Acts interface {
	// Do makes an act known and writes it into the audit log. It returns the act
	// with its ID and At. An act whose ID is known already is returned as it
	// stands: asking twice, one after the other, is asking once. IDs are known for
	// a day or longer; of pauses and resumes those of the latest 200 at least.
	//
	// The error is an *ActError for an act that is not valid, or one too many; a
	// *ReusedIDError if the ID is that of an act with another Fingerprint;
	// locking.ErrNoQuorum when too few nodes took it, in which case it may be
	// done all the same.
	Do(ctx context.Context, act Act) (Act, error)

	// Open returns what is in force. It returns locking.ErrNoQuorum when too few
	// nodes answered to be sure of it, as a *PartialError if there is some of which
	// it is.
	Open(ctx context.Context) (OpenActs, error)

	// Close takes a request off and notes in the audit log what became of it. The
	// first result stays; closing again, or what is not known, is harmless.
	Close(ctx context.Context, id, result string) error

	// Audit returns the latest acts, newest first, at most so many.
	Audit(ctx context.Context, limit int) ([]Act, error)
}

// An ActKind is what an act does.
type ActKind string

// The kinds of acts. The first three are requests: they stay open until they are
// closed or expire. The others stand until the next one of the same target.
const (
	ActTrigger  ActKind = "trigger"  // run the job once, now
	ActBackfill ActKind = "backfill" // run the job's ticks of a range of time
	ActCancel   ActKind = "cancel"   // end the context of a run
	ActPause    ActKind = "pause"    // skip the ticks of the target
	ActResume   ActKind = "resume"   // no longer
)

// Request tells whether acts of the kind are open until they are closed.
func (k ActKind) Request() bool {
	return k == ActTrigger || k == ActBackfill || k == ActCancel
}

// An Act is one thing that was asked of the whole cluster.
type Act struct {
	// ID names the act. Default: random. A caller that may have to ask twice chooses
	// it, and uses it for one act only; ActID makes one of what a user sends.
	ID   string  `json:"id"`
	Kind ActKind `json:"kind"`

	// Job is the target: the name under which the nodes keep the job (Job.Key).
	// A pause or resume has a Job, a Tag, or All.
	Job string `json:"job,omitempty"`
	Tag string `json:"tag,omitempty"`
	All bool   `json:"all,omitempty"`
	// Covers, unless nil, narrows a pause by Tag or All that Open returns to the jobs
	// with the keys it accepts. Where several groups of nodes keep the acts, not all
	// of them may have taken it.
	Covers func(key string) bool `json:"-"`

	// By and Reason are for those who read the audit log. Pauses need both.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`

	// At is when the act was made, by the clocks of the nodes, in whole
	// milliseconds. No two requests of a kind and job share it, and a later one
	// has a later At: it is their order, and what a trigger's run has as its tick.
	// Do sets it.
	At time.Time `json:"at"`
	// Within is how long after At a request may be begun. Default: DefaultWithin
	// of its kind.
	Within time.Duration `json:"within,omitempty"`

	// Params of a trigger, a JSON object, go before those of the job, key by key.
	Params json.RawMessage `json:"params,omitempty"`
	// Trigger is why a trigger's run was asked for: ByManual, the default, or
	// ByChain.
	Trigger Trigger `json:"trigger,omitempty"`
	// Parent is the id of the run that asked, for ByChain.
	Parent string `json:"parent,omitempty"`
	// From and To bound the ticks of a backfill: from From on, before To.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Concurrency is how many runs of a backfill may go on at once in the whole
	// cluster, if the job's runs may overlap (OverlapAllow). Default: 1.
	Concurrency int `json:"concurrency,omitempty"`
	// Run is the id of the run that is cancelled.
	Run string `json:"run,omitempty"`

	// Result is what became of a request, Closed when that was noted. Both are
	// zero while it is open. Close sets them.
	Result string    `json:"result,omitempty"`
	Closed time.Time `json:"closed,omitzero"`
}

// Bounds of acts.
const (
	// MaxOpenActs is how many requests may be open at once.
	MaxOpenActs = 1000
	// MaxBackfill is how many ticks one backfill may have.
	MaxBackfill = 1000
	// MaxConcurrency bounds Act.Concurrency.
	MaxConcurrency = 100
	// MaxPauses is how many pauses may stand at once.
	MaxPauses = 500
	// MaxActText bounds By, Reason and Result of an act, in bytes.
	MaxActText = 1 << 10
	// MaxActName bounds its Job, Tag, Run and Parent, in bytes.
	MaxActName = 300
	// MaxActParams bounds its Params, in bytes.
	MaxActParams = 16 << 10
	// KeepAudit is how many acts the audit log holds at least before the oldest
	// are dropped.
	KeepAudit = 1000
	// KeepRefused is how many refused acts it holds beside those.
	KeepRefused = 200
)

// DefaultWithin is how long after it was made a request may be begun.
func DefaultWithin(k ActKind) time.Duration {
	switch k {
	case ActTrigger:
		return time.Hour
	case ActBackfill:
		return 24 * time.Hour
	case ActCancel:
		return time.Minute
	}
	return 0
}

// Expires is when an open request is given up.
func (a Act) Expires() time.Time { return a.At.Add(a.Within) }

// Target names what the act is about, in words.
func (a Act) Target() string {
	switch {
	case a.All:
		return "all jobs"
	case a.Tag != "":
		return "tag " + a.Tag
	}
	return a.Job
}

// OpenActs is what is in force at one moment.
type OpenActs struct {
	// Pauses are those that were not resumed, by target.
	Pauses []Act
	// Requests are those that were neither closed nor have expired, oldest first.
	Requests []Act
	// Expired are requests that expired within the last day and were not closed:
	// nobody has accounted for them yet. Oldest first.
	Expired []Act
}

// Line names the acts that act is one of a series with: their Ats grow, and of
// pauses and resumes the last one counts. It is for implementations.
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

// Last is the last instant that the act takes up in its Line: a backfill has one
// for each of its ticks.
func (a Act) Last() time.Time {
	if a.Kind == ActBackfill {
		return a.At.Add((MaxBackfill - 1) * time.Millisecond)
	}
	return a.At
}

// Done returns the request closed, with what became of it; a long result is cut.
// It is for implementations.
func (a Act) Done(result string, at time.Time) Act {
	if len(result) > MaxActText {
		result = strings.ToValidUTF8(result[:MaxActText], "") + " …"
	}
	a.Result, a.Closed = result, at.Truncate(time.Millisecond).UTC()
	return a
}

// SortActs sorts acts, the oldest first.
func SortActs(acts []Act) {
	slices.SortStableFunc(acts, func(a, b Act) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
}
