// Package acts has what people ask of the whole cluster: an [Act] runs a job now or its
// ticks of the past, ends a run, or pauses and resumes jobs. A [Store] keeps the acts that
// are in force and the audit log.
//
// An act is an instruction. The claim of its tick ensures that a request runs once.
package acts

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
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

// KeyID is the ID of the act for a user's key, such as the Idempotency-Key of a request. It
// is a hash: no key makes the ID of another user's act, or of the scheduler's own.
func KeyID(user, key string) string {
	return "key-" + shortHash(fmt.Sprintf("%d %s %s", len(user), user, key))
}

// Fingerprint distinguishes acts with the same ID: it is a hash of the contents without ID,
// By, At, Result and Closed. The act must be Ready.
func (a Act) Fingerprint() string {
	a.ID, a.By, a.At, a.Result, a.Closed = "", "", time.Time{}, "", time.Time{}
	text, _ := json.Marshal(a) // a ready act can be encoded
	return shortHash(string(text))
}

// shortHash is 128 bits of a hash, enough against collisions.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// A ReusedIDError is the error for an act whose ID belongs to another act with other
// contents.
type ReusedIDError struct{ ID string }

// Error is the message.
func (e *ReusedIDError) Error() string {
	return "the id " + e.ID + " was used for another act; choose a new one"
}

// Backfill returns the ticks of a backfill, oldest first: those in its range before the
// request. It returns at most MaxBackfill + 1.
func (a Act) Backfill(s schedule.Schedule) []time.Time {
	end := a.To
	if !a.At.IsZero() && a.At.Before(end) {
		end = a.At
	}
	var ticks []time.Time
	for t := s.Next(a.From.Add(-1)); !t.IsZero() && t.Before(end) && len(ticks) <= MaxBackfill; t = s.Next(t) {
		ticks = append(ticks, t)
	}
	return ticks
}

// ErrGrace is matched by the error of a Store whose nodes are new, or have restarted, and
// may lack acts until their grace ends.
var ErrGrace = errors.New("the nodes may lack acts until their grace ends")

// A Store keeps the acts of the whole cluster. If Do has returned without an error, every
// later Open on every replica returns the act, also after all replicas were restarted. It
// may take a few seconds if another client stopped in the middle of the same act before.
//
// An act is an instruction; the Locker's claim ensures that a request runs once.
type Store interface {
	// Do stores an act and writes it into the audit log. It returns the act with its ID and
	// At. An act with a known ID is returned as it is: asking again has no effect. IDs are
	// known for at least a day; of pauses and resumes at least the latest 200.
	//
	// The error is an *Error for an invalid act, or one too many; a *ReusedIDError if the
	// ID is that of an act with another Fingerprint; locking.ErrNoQuorum when too few nodes
	// took it: then it may be done all the same.
	Do(ctx context.Context, act Act) (Act, error)

	// Open returns the acts in force. It returns locking.ErrNoQuorum when too few nodes
	// answered; the error is ErrGrace, too, if they answered but may lack acts.
	Open(ctx context.Context) (Open, error)

	// Close closes a request and stores its result in the audit log. The first result
	// stays; closing again, or an unknown ID, is harmless.
	Close(ctx context.Context, id, result string) error

	// Audit returns the latest acts, newest first.
	Audit(ctx context.Context, limit int) ([]Act, error)
}

// form is the version of the stored form of an act. A reader refuses newer ones.
const form = 1

// stored is the JSON of an act with the version of the form.
type stored struct {
	V int `json:"v"`
	Act
}

// Encode returns the stored form of the act. It is for implementations.
func (a Act) Encode() ([]byte, error) {
	text, err := plainjson.Marshal(stored{V: form, Act: a})
	if err != nil {
		return nil, fmt.Errorf("encoding an act: %w", err)
	}
	return text, nil
}

// Decode reads the stored form of an act. It is for implementations.
func Decode(text []byte) (Act, error) {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return Act{}, fmt.Errorf("decoding an act: %w", err)
	}
	if s.V > form {
		return Act{}, fmt.Errorf("an act has version %d, this release reads up to %d: upgrade quorate", s.V, form)
	}
	if !slices.Contains(Kinds(), s.Kind) {
		return Act{}, fmt.Errorf("an act of kind %.100q is unknown to this release: upgrade quorate", s.Kind)
	}
	return s.Act, nil
}

// The kinds of notes that are no acts of other kinds.
const (
	Release Kind = "release" // a lock was taken from its holder
	Copy    Kind = "copy"    // the store was copied from another one
	// Unreadable is the kind of an act whose record cannot be read; its Result says why.
	Unreadable Kind = "unreadable"
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Trigger, Backfill, Cancel, Pause, Resume, Release, Copy, Unreadable}
}

// RefusedResult is the prefix of a refused act's result.
const RefusedResult = "refused: "

// Refused reports whether the act was refused.
func (a Act) Refused() bool { return strings.HasPrefix(a.Result, RefusedResult) }

// IsNote reports whether the act was noted: it was done or refused without a request.
func (a Act) IsNote() bool {
	return a.Refused() || a.Kind == Release || a.Kind == Copy || a.Kind == Unreadable
}

// A Notebook is a Store that also takes notes: actions that were done or refused outside of
// acts, for readers of the audit log. A note appears in Audit only.
type Notebook interface {
	// Note writes a note with a kind and a Result: what was done or, after RefusedResult,
	// why not. The last KeepRefused refused acts are stored apart, so they do not displace
	// others. It returns locking.ErrNoQuorum when too few nodes took it.
	Note(ctx context.Context, act Act) error
}

// Noted returns a as a note of the audit log: closed at the given time, with long texts
// cut. Whatever a is, a note of it can be stored. It is for implementations.
func (a Act) Noted(at time.Time) Act {
	note := Act{
		ID: "note-" + rand.Text(), Kind: Kind(noted(string(a.Kind))), At: at.Truncate(time.Millisecond).UTC(),
		Job: noted(a.Job), Tag: noted(a.Tag), All: a.All, By: noted(a.By), Reason: noted(a.Reason),
		Trigger: ledger.Trigger(noted(string(a.Trigger))), Parent: noted(a.Parent), Run: noted(a.Run),
		From: a.From, To: a.To, Concurrency: a.Concurrency,
	}
	return note.Done(a.Result, at)
}

func noted(text string) string {
	if len(text) > MaxText {
		return strings.ToValidUTF8(text[:MaxText], "") + " …"
	}
	return text
}
