// Package locking grants one worker in a cluster the right to work under a name. It
// defines the contract that backends implement, and helpers that work with every
// backend.
//
// A [Locker] grants a [Lease]: the right to work under a name until a deadline. The
// lease comes with a fencing [Token], which only grows. A lease bounds how long two
// holders can overlap, but cannot rule it out: a process may be paused at any
// instruction. A resource that remembers the largest token can: it refuses writes from
// a holder that was paused too long.
//
// # Acquire, keep, release
//
//	err := locking.Do(ctx, locker, "stock", func(ctx context.Context, claim locking.Claim) error {
//		return work(ctx, claim.Token) // ctx ends with a cause before the lease does
//	})
//
// The parts of [Do] can also be used alone:
//
//   - [Acquire] retries until it gets the lock; TryAcquire tries once. An
//     [*AcquireError] says why a lock was not granted.
//   - [Keep] extends the lease while the work runs.
//   - [AcquireOrExtend] returns to a lease from time to time. A new token means that
//     others may have worked in between.
//   - [AcquireAll] acquires several locks, all or none, as a [Group] that Keep accepts.
//   - [Left] is the validity left.
//
// # Ticks
//
// A request may name a tick, the scheduled time of a job. The Locker then remembers
// the tick claimed last and whether it was finished, so a tick runs once even after
// its lease has ended.
//
// Every Locker promises the following; package locktest checks it:
//
//   - No two leases of a name carry the same token. A lease requested after another
//     was granted carries a larger one.
//   - A tick requested AtMostOnce is granted once, unless its lease was voided before
//     any work began. A released tick is never granted again. No tick is granted
//     after a later one was.
//   - Deadline is never later than the time until which other replicas wait.
//   - A failed try does not block others.
//   - Release distinguishes a lease that was held until then, one that had expired,
//     and one that was lost to another holder.
//
// A [Watcher] also tells, with one request to one node, the state of a tick.
//
// # The end of the right to work
//
// The context of [Do] and of a [Keeper] ends by the local clocks, a margin before the
// lease does, even while an extension is in flight. Its cause, and the errors of
// Extend and Release, match [ErrLeaseLost]. The cause is [ErrMaxHold] when
// KeepConfig.MaxHold was reached, and an [*EvictedError] when an operator released the
// lock. [ErrExpired] does not match ErrLeaseLost: Release closed the claim, but late.
//
// Not promised: that an expired holder has stopped. A function may ignore an ended
// context, and a paused process may continue when it wakes. Tokens protect against
// both; see package fence.
package locking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// A Token is a fencing token: a number that only grows per lock name. A writer sends
// its token along, and the resource refuses one smaller than the largest it has seen.
// The zero Token means none.
type Token uint64

// DefaultTTL is the length of leases unless the request or the Locker says otherwise.
const DefaultTTL = 15 * time.Second

// Mode says how often a tick may run.
type Mode uint8

const (
	// AtMostOnce lets only one attempt claim a tick, ever.
	AtMostOnce Mode = iota
	// AtLeastOnce lets another attempt claim an unfinished tick once its lock has
	// ended, with a larger token and attempt number.
	AtLeastOnce
)

// A Request asks for the right to work under a name.
type Request struct {
	// Name of the lock; for a scheduled job, the job's name.
	Name string
	// Tick is the scheduled time to claim, in whole milliseconds. The zero time asks
	// for a plain lock without ticks.
	Tick time.Time
	// Stream is the sequence of ticks that Tick belongs to; empty means the schedule.
	// All streams of a name share one lock and one sequence of tokens, but each has its
	// own latest tick. A tick of one stream neither closes nor hides the same time in
	// another. Check says which names are valid.
	Stream string
	// Beside lets the work overlap with other ticks requested with Beside, in any
	// stream: each takes a lock of its own tick. Tokens still grow and each stream's
	// ticks are still claimed in order, so a guard refuses older work after newer work
	// has written. Requests with and without Beside exclude each other. A request
	// without it may have to wait up to a TTL after the last overlapping one ended. Not
	// for plain locks.
	Beside bool
	// Direct claims in one round instead of two: half the messages, half the time. It
	// is for callers that expect no competition, such as the replica with rank 0. It
	// splits votes more often, but never makes two callers win. After a refusal, try
	// without it.
	Direct bool
	// Waiting says that an earlier try was refused, or that another holder was seen.
	// The Locker may then first check, without side effects, whether the lock is free.
	Waiting bool
	// TTL is the length of the lease unless it is extended. Default: the Locker's.
	TTL time.Duration
	// Mode says whether an unfinished tick may be claimed again.
	Mode Mode
	// Holder names the caller for humans. It never distinguishes owners.
	Holder string
	// Note is stored with the claim when it is granted. Readers find it even if the
	// process dies before its run ends.
	Note []byte
}

// A Locker decides for the whole cluster which caller may work.
type Locker interface {
	// TryAcquire makes one try and does not wait for another lease to end. If the
	// lease was not granted, it returns an *AcquireError, which unwraps to the sentinel
	// that says why, joined with the context's error if that ended first. A refused
	// try does not block others.
	TryAcquire(ctx context.Context, req Request) (Lease, error)
}

// A Tenure is a right to work that ends unless it is extended: a [Lease] or a [Group].
// Its methods may be called from any goroutine.
type Tenure interface {
	// Deadline is the end of the right to work. It is counted from before the first
	// message of the claim, or of the last extension that succeeded, less clock drift.
	// Compare both its monotonic reading and its wall clock, as Expired does.
	Deadline() time.Time

	// Extend moves the deadline to a full TTL from now. After an error the deadline is
	// unchanged. ErrLeaseLost means that the lease can never be extended again, for
	// example because its deadline has passed; after any other error another try may
	// succeed.
	Extend(ctx context.Context) error
}

// A Lease is the right to work under a name until its deadline. Its methods may
// be called from any goroutine.
type Lease interface {
	Tenure

	// Claim returns what was granted. It never changes.
	Claim() Claim

	// Release ends the claim as done, stores note with it, and frees the lock. A
	// released tick is never granted again. Release returns nil if the lease was held
	// until then, ErrExpired if it had expired but no one has claimed anything since,
	// and ErrLeaseLost if others may have worked since. Later calls return the same
	// result.
	Release(ctx context.Context, note []byte) error

	// HandOver ends the claim as Release does, but the tick is not done. Under
	// AtLeastOnce it may be granted again at once, with a larger token and attempt
	// number; under AtMostOnce never. The work must have ended.
	HandOver(ctx context.Context, note []byte) error

	// Void gives the claim back unused, so the same tick may be granted again. Call it
	// instead of Release, and only if the work never began.
	Void(ctx context.Context) error
}

// A Claim is what the cluster granted.
type Claim struct {
	Name    string
	Tick    time.Time
	Stream  string // as requested; empty for the schedule
	Token   Token
	Attempt int  // counts the claims of one tick, from 1
	Beside  bool // as requested
	Votes   Votes
	Poll    Poll // each node's answer; zero if the Locker cannot tell
	// Granted is when the claim was issued, by the local clock.
	Granted time.Time
}

// Fence returns the resource that the claim protects, by default the lock's name, and
// the token to write with. It makes a Claim a fence.Bearer.
func (c Claim) Fence() (resource string, token Token) { return c.Name, c.Token }

// Votes counts the nodes that accepted. It is zero where no nodes vote, as on PostgreSQL.
type Votes struct {
	For int // nodes that accepted
	Of  int // all nodes
}

// Expired reports whether deadline has passed by the monotonic or by the wall clock. The
// monotonic clock stops while a machine is suspended, and the wall clock can be set
// back.
func Expired(now, deadline time.Time) bool {
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}

// Left is how much longer the right to work lasts, by the clock that says less; 0 once
// it has expired.
func Left(t Tenure) time.Duration {
	now, deadline := time.Now(), t.Deadline()
	left := min(deadline.Sub(now), deadline.Round(0).Sub(now.Round(0)))
	return max(left, 0)
}

// StreamSchedule is the stream of scheduled ticks, and the default of Request.Stream.
const StreamSchedule = "schedule"

// maxStream bounds the name of a stream, in bytes.
const maxStream = 32

// streamPlain holds plain locks, so no other stream may use this name.
const streamPlain = "lock"

// InStream returns the name of the request's stream: StreamSchedule by default.
func (r Request) InStream() string { return cmp.Or(r.Stream, StreamSchedule) }

// Check reports what no Locker accepts: a request without a name; a tick in parts of milliseconds, or
// before 1970; a stream whose name has anything but lower-case letters, digits and "-", or a plain
// lock with a stream or with Beside. Lockers check the TTL themselves.
func (r Request) Check() error {
	switch {
	case r.Name == "":
		return errors.New("no name")
	case r.Tick.Nanosecond()%int(time.Millisecond) != 0:
		return fmt.Errorf("tick %v: use whole milliseconds", r.Tick)
	case !r.Tick.IsZero() && r.Tick.UnixMilli() <= 0:
		return fmt.Errorf("tick %v: use one after 1970", r.Tick)
	case r.Beside && r.Tick.IsZero():
		return errors.New("beside others: only ticks run beside one another, a plain lock is held by one")
	case r.Stream == "":
		return nil
	case r.Tick.IsZero():
		return fmt.Errorf("stream %q: a plain lock has no ticks, so no stream of them", r.Stream)
	case r.Stream == streamPlain:
		return fmt.Errorf("stream %q: plain locks are kept under this name", r.Stream)
	case len(r.Stream) > maxStream:
		return fmt.Errorf("stream of %d bytes: use %d at most", len(r.Stream), maxStream)
	}
	for _, c := range r.Stream {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("stream %q: use lower-case letters, digits and -", r.Stream)
		}
	}
	return nil
}

// A Watcher is a Locker that can cheaply tell the state of a tick, for replicas that
// expect another one to claim it.
type Watcher interface {
	Locker
	// Watch returns a Watch of the tick of req. Watchers with different start begin at
	// different nodes, which spreads their requests.
	Watch(req Request, start uint64) Watch
}

// A Watch reports the state of one tick each time it is asked. One goroutine at a time
// may use it. It need not be closed.
type Watch interface {
	// Look asks one node and changes nothing there. Each call asks the next node that
	// is up and votes. Nil means that the node knows of no obstacle, or that no node
	// can be asked: then TryAcquire may win, or tell why not. Otherwise Look returns an
	// *AcquireError:
	//   - ErrDone: the tick has run and finished. One node's answer is enough.
	//   - ErrClaimed: a quorum of nodes, over several calls, have named the same owner
	//     and token.
	//   - ErrTaken: a hint: at this node the tick is claimed, or the lock held until
	//     Until.
	//   - ErrSilent: the node did not answer in time, perhaps because it is overloaded.
	//
	// After the last two, look again later.
	Look(ctx context.Context) error
}

// MostNodes is the largest number of nodes in a cluster.
const MostNodes = 7

// A Poll holds the answers of all nodes to one claim or extension.
type Poll struct {
	// List identifies the list of nodes: a hash of its names. Names are the nodes' names in
	// the order of the configuration, nil if unknown; they must not be changed.
	List  uint32
	Names *[MostNodes]string
	// Answers are in the same order, and zero beyond the last node.
	Answers [MostNodes]Answer
	// Rounds counts the rounds of requests; 0: unknown.
	Rounds uint8
	// Errors quotes the nodes that refused or failed; mostly "".
	Errors string
}

// Nodes is the number of nodes; 0: their answers are unknown.
func (p *Poll) Nodes() int {
	for i, a := range p.Answers {
		if a == 0 {
			return i
		}
	}
	return MostNodes
}

// Name is the name of a node, "" if unknown.
func (p *Poll) Name(node int) string {
	if p.Names == nil {
		return ""
	}
	return p.Names[node]
}

// Letters returns the answers, one letter each.
func (p *Poll) Letters() string {
	b := make([]byte, p.Nodes())
	for i := range b {
		b[i] = byte(p.Answers[i])
	}
	return string(b)
}

// An Answer is one node's answer. Its value is the letter in stored forms.
type Answer byte

// The answers of a node.
const (
	Granted     Answer = '+' // it accepted
	NotAwaited  Answer = '.' // the round was decided before it answered
	Held        Answer = 'h' // it knows another holder of the lock or the tick
	Abstained   Answer = 'a' // it may have lost its memory
	Unreachable Answer = 'u' // it did not answer, or was known to be down
	Refused     Answer = 'r' // it refused for another reason
)

// String describes the answer in a word or two.
func (a Answer) String() string {
	switch a {
	case Granted:
		return "granted"
	case NotAwaited:
		return "not awaited"
	case Held:
		return "held"
	case Abstained:
		return "abstained"
	case Unreachable:
		return "unreachable"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// A Polled lease has the nodes' answers to its last extension.
type Polled interface {
	// LastPoll returns that of the last extension tried; the zero Poll before.
	LastPoll() Poll
}

func lastPoll(t Tenure) Poll {
	if polled, ok := t.(Polled); ok {
		return polled.LastPoll()
	}
	return Poll{}
}

// Endless is the time left of a lock that never expires. No Locker sets one; another client
// of the same nodes has set it.
const Endless = time.Duration(math.MaxInt64)

// A Holding is one owner's part in a name: its lock on some nodes, or its unfinished
// claim.
type Holding struct {
	Name string
	// Holder names the owner. It is empty if no claim names the lock's value: the owner
	// has not got further than LOCK, or is another Redlock client.
	Holder string
	// Tick is zero for a plain lock. Stream is the stream of the tick.
	Tick   time.Time
	Stream string
	// Beside: the work may overlap with others, see Request.
	Beside bool
	// Token, Attempt, Mode and Since are those of the claim; zero without one. Since is
	// by the clock that the token follows.
	Token   Token
	Attempt int
	Mode    Mode
	Since   time.Time
	// Left is how long a quorum still holds the lock unless it is extended: 0 if fewer
	// than a quorum hold it, Endless if it never expires.
	Left time.Duration
	// On counts the nodes that hold the lock.
	On Votes
	// Done: the claim was finished. Void: it was given back.
	Done, Void bool
}

// Held reports whether a quorum holds the lock for this owner.
func (h Holding) Held() bool { return h.On.For >= h.On.Of/2+1 }

// Known reports whether a claim names the owner.
func (h Holding) Known() bool { return h.Token != 0 }

// String names the holder, its token and its tick.
func (h Holding) String() string {
	text := "an unknown holder"
	if h.Known() {
		text = fmt.Sprintf("%s with token %d", cmp.Or(h.Holder, "somebody"), h.Token)
	}
	if !h.Tick.IsZero() {
		text += " for tick " + h.Tick.UTC().Format(time.RFC3339Nano)
	}
	return text
}

// Why an operator's release or deletion of a name was refused.
var (
	// ErrNotHeld: no one holds the lock.
	ErrNotHeld = errors.New("nobody holds the lock")
	// ErrSeveral: several runs of the job overlap, and no token selects one.
	ErrSeveral = errors.New("several runs overlap")
	// ErrReason: the reason has the wrong length.
	ErrReason = errors.New("the reason does not fit")
	// ErrUnknownName: there is nothing to forget.
	ErrUnknownName = errors.New("the nodes store nothing of it")
)

// MinReason and MaxReason bound an operator's reason, in bytes; every node stores it.
const (
	MinReason = 2
	MaxReason = 500
)

// CleanReason returns the operator's reason for releasing a lock as it is stored: on one
// line. The error matches ErrReason.
func CleanReason(name, reason string) (string, error) {
	reason = strings.Join(strings.Fields(reason), " ")
	if len(reason) < MinReason || len(reason) > MaxReason {
		return "", fmt.Errorf("releasing %s: %w: it has %d bytes; say why in %d to %d", name, ErrReason, len(reason), MinReason, MaxReason)
	}
	return reason, nil
}
