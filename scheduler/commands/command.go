// Package commands has what people ask of the whole cluster: a [Command] runs a job now or its
// ticks of the past, ends a run, or pauses and resumes jobs. A [Store] keeps the commands that
// are in force and the audit log.
//
// A command is an instruction. The claim of its tick ensures that a request runs once.
package commands

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

// A Kind is the kind of a command.
type Kind string

// The kinds of commands. The first three are requests: they stay open until they are closed or
// expire. The others apply until the next one of the same target.
const (
	Trigger  Kind = "trigger"  // run the job once, now
	Backfill Kind = "backfill" // run the job's ticks of a time range
	Cancel   Kind = "cancel"   // end the context of a run
	Pause    Kind = "pause"    // skip the ticks of the target, for some time or until it is resumed
	Resume   Kind = "resume"   // end a pause
)

// Request reports whether commands of the kind are open until they are closed.
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

// A Command is something that people ask of the whole cluster.
type Command struct {
	// ID identifies the command. Default: random. A caller that may have to ask twice chooses
	// the ID, and uses it for one command only; KeyID makes one from a user's key.
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

	// At is when the command was made, by the nodes' clocks, in whole milliseconds. No two
	// requests of a kind and job share it, and later requests have a later At: it is their
	// order, and the tick of a trigger's run. Do sets it.
	At time.Time `json:"at"`
	// Within is how long after At a request may be started. Default: DefaultWithin of its
	// kind. Of a pause it is how long it lasts.
	Within time.Duration `json:"within,omitempty"`
	// Until is when a pause ends. Without Until and Within it lasts until it is resumed.
	Until time.Time `json:"until,omitzero"`

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

// Bounds of commands.
const (
	// MaxOpen bounds the open requests; see [Kind.Most]. On several nodes competing requests
	// may exceed it by less than the places that were left.
	MaxOpen = 1000
	// MaxBackfill bounds the ticks of one backfill.
	MaxBackfill = 1000
	// MaxConcurrency bounds Command.Concurrency.
	MaxConcurrency = 100
	// MaxPauses bounds the current pauses.
	MaxPauses = 500
	// MaxPause bounds how long a pause with an end lasts.
	MaxPause = 10 * 365 * 24 * time.Hour
	// MaxText bounds By, Reason and Result of a command, in bytes.
	MaxText = 1 << 10
	// MaxName bounds its Job, Tag, Run and Parent, in bytes.
	MaxName = 300
	// MaxParams bounds its Params, in bytes.
	MaxParams = 16 << 10
	// KeepAudit is how many commands the audit log keeps at least.
	KeepAudit = 1000
	// KeepRefused is how many refused commands it keeps besides.
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
func (a Command) Expires() time.Time { return a.At.Add(a.Within) }

// Ends is when a pause ends by itself; zero: it lasts until it is resumed.
func (a Command) Ends() time.Time {
	if a.Within > 0 {
		return a.Expires()
	}
	return a.Until
}

// Made returns the command with its At, or an *Error if that is no time for it. It is for implementations.
func (a Command) Made(at time.Time) (Command, error) {
	a.At = at
	ends := a.Ends()
	switch {
	case a.Kind != Pause || ends.IsZero():
	case !ends.After(at):
		return a, &Error{Kind: Pause, Msg: fmt.Sprintf("until %s: that is over; write a later time", ends.UTC().Format(time.RFC3339))}
	case ends.Sub(at) > MaxPause:
		return a, &Error{Kind: Pause, Msg: fmt.Sprintf("until %s: that is more than ten years away; leave the end out, and resume it", ends.UTC().Format(time.RFC3339))}
	}
	return a, nil
}

// Target names the target in words.
func (a Command) Target() string {
	switch {
	case a.All:
		return "all jobs"
	case a.Tag != "":
		return "tag " + a.Tag
	}
	return a.Job
}

// Open is the set of commands in force at one moment.
type Open struct {
	// Pauses are those in force, by target. Ended are those that ended by themselves within the last
	// day: ticks of their time may be decided late.
	Pauses, Ended []Command
	// Requests are those that were not closed and have not expired, oldest first.
	Requests []Command
	// Expired are requests that expired within the last day and were not closed, oldest
	// first.
	Expired []Command
}

// Pause adds a pause that was not resumed, unless it ended long ago. It is for implementations.
func (o *Open) Pause(a Command, now time.Time) {
	switch ends := a.Ends(); {
	case ends.IsZero() || now.Before(ends):
		o.Pauses = append(o.Pauses, a)
	case now.Before(ends.Add(keepEnded)):
		o.Ended = append(o.Ended, a)
	}
}

// Skipping returns the pauses that skip the tick with this nominal time: those in force, unless it is their end or
// later, and those that have ended, if it is of their time. What lasts is the store's to say, since clocks of
// replicas differ. A tick of the zero time is skipped by all that are in force.
func (o Open) Skipping(tick time.Time) (list []Command) {
	for _, a := range o.Pauses {
		if ends := a.Ends(); ends.IsZero() || tick.Before(ends) {
			list = append(list, a)
		}
	}
	for _, a := range o.Ended {
		if !tick.Before(a.At) && tick.Before(a.Ends()) {
			list = append(list, a)
		}
	}
	return list
}

// keepEnded is how long Open returns pauses that have ended.
const keepEnded = 24 * time.Hour

// Series names the series of the command: its Ats grow, and the last of its pauses and resumes
// counts. It is for implementations.
func (a Command) Series() string {
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

// Last is the last instant of the command in its Series: a backfill has one for each of its
// ticks.
func (a Command) Last() time.Time {
	if a.Kind == Backfill {
		return a.At.Add((MaxBackfill - 1) * time.Millisecond)
	}
	return a.At
}

// Done returns the request closed, with its result; a long result is cut. It is for
// implementations.
func (a Command) Done(result string, at time.Time) Command {
	if len(result) > MaxText {
		result = strings.ToValidUTF8(result[:MaxText], "") + " …"
	}
	a.Result, a.Closed = result, at.Truncate(time.Millisecond).UTC()
	return a
}

// Sort sorts commands, the oldest first.
func Sort(commands []Command) {
	slices.SortStableFunc(commands, func(a, b Command) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
}

// Streams of requests. Each has its own order, that of the requests.
const (
	StreamManual   = "manual"   // triggers, by people and by other jobs
	StreamBackfill = "backfill" // ticks of the past
)

// KeyID is the ID of the command for a user's key, such as the Idempotency-Key of a request. It
// is a hash: no key makes the ID of another user's command, or of the scheduler's own.
func KeyID(user, key string) string {
	return "key-" + shortHash(fmt.Sprintf("%d %s %s", len(user), user, key))
}

// Fingerprint distinguishes commands with the same ID: it is a hash of the contents without ID,
// By, At, Result and Closed. The command must be Ready.
func (a Command) Fingerprint() string {
	a.ID, a.By, a.At, a.Result, a.Closed = "", "", time.Time{}, "", time.Time{}
	text, _ := json.Marshal(a) // a ready command can be encoded
	return shortHash(string(text))
}

// shortHash is 128 bits of a hash, enough against collisions.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// A ReusedIDError is the error for a command whose ID belongs to another command with other
// contents.
type ReusedIDError struct{ ID string }

// Error is the message.
func (e *ReusedIDError) Error() string {
	return "the id " + e.ID + " was used for another command; choose a new one"
}

// Backfill returns the ticks of a backfill, oldest first: those in its range before the
// request. It returns at most MaxBackfill + 1.
func (a Command) Backfill(s schedule.Schedule) []time.Time {
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
// may lack commands until their grace ends.
var ErrGrace = errors.New("the nodes may lack commands until their grace ends")

// A Store keeps the commands of the whole cluster. If Do has returned without an error, every
// later Open on every replica returns the command, also after all replicas were restarted. It
// may take a few seconds if another client stopped in the middle of the same command before.
//
// A command is an instruction; the Locker's claim ensures that a request runs once.
type Store interface {
	// Do stores a command and writes it into the audit log. It returns the command with its ID and
	// At. A command with a known ID is returned as it is: asking again has no effect. IDs are
	// known for at least a day; of pauses and resumes at least the latest 200.
	//
	// The error is an *Error for an invalid command, or one too many; a *ReusedIDError if the
	// ID is that of a command with another Fingerprint; locking.ErrNoQuorum when too few nodes
	// took it: then it may be done all the same.
	Do(ctx context.Context, command Command) (Command, error)

	// Open returns the commands in force. It returns locking.ErrNoQuorum when too few nodes
	// answered; the error is ErrGrace, too, if they answered but may lack commands.
	Open(ctx context.Context) (Open, error)

	// Close closes a request and stores its result in the audit log. The first result
	// stays; closing again, or an unknown ID, is harmless.
	Close(ctx context.Context, id, result string) error

	// Audit returns the latest commands, newest first.
	Audit(ctx context.Context, limit int) ([]Command, error)
}

// form is the version of the stored form of a command. A reader refuses newer ones.
const form = 1

// stored is the JSON of a command with the version of the form.
type stored struct {
	V int `json:"v"`
	Command
}

// Encode returns the stored form of the command. It is for implementations.
func (a Command) Encode() ([]byte, error) {
	text, err := plainjson.Marshal(stored{V: form, Command: a})
	if err != nil {
		return nil, fmt.Errorf("encoding a command: %w", err)
	}
	return text, nil
}

// Decode reads the stored form of a command. It is for implementations.
func Decode(text []byte) (Command, error) {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return Command{}, fmt.Errorf("decoding a command: %w", err)
	}
	if s.V > form {
		return Command{}, fmt.Errorf("a command has version %d, this release reads up to %d: upgrade quorate", s.V, form)
	}
	if !slices.Contains(Kinds(), s.Kind) {
		return Command{}, fmt.Errorf("a command of kind %.100q is unknown to this release: upgrade quorate", s.Kind)
	}
	return s.Command, nil
}

// The kinds of notes that are no commands of other kinds.
const (
	Release Kind = "release" // a lock was taken from its holder
	Copy    Kind = "copy"    // the store was copied from another one
	// Unreadable is the kind of a command whose record cannot be read; its Result says why.
	Unreadable Kind = "unreadable"
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Trigger, Backfill, Cancel, Pause, Resume, Release, Copy, Unreadable}
}

// RefusedResult is the prefix of a refused command's result.
const RefusedResult = "refused: "

// Refused reports whether the command was refused.
func (a Command) Refused() bool { return strings.HasPrefix(a.Result, RefusedResult) }

// IsNote reports whether the command was noted: it was done or refused without a request.
func (a Command) IsNote() bool {
	return a.Refused() || a.Kind == Release || a.Kind == Copy || a.Kind == Unreadable
}

// A Notebook is a Store that also takes notes: actions that were done or refused outside of
// commands, for readers of the audit log. A note appears in Audit only.
type Notebook interface {
	// Note writes a note with a kind and a Result: what was done or, after RefusedResult,
	// why not. The last KeepRefused refused commands are stored apart, so they do not displace
	// others. It returns locking.ErrNoQuorum when too few nodes took it.
	Note(ctx context.Context, command Command) error
}

// Noted returns a as a note of the audit log: closed at the given time, with long texts
// cut. Whatever a is, a note of it can be stored. It is for implementations.
func (a Command) Noted(at time.Time) Command {
	note := Command{
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
