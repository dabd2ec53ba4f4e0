package locking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// another. CheckStream says which names are valid.
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
	// TryAcquire makes one attempt and does not wait for another lease to end. If the
	// lease was not granted, it returns an *AcquireError, which unwraps to the sentinel
	// that says why, joined with the context's error if that ended first. A refused
	// attempt does not block others.
	TryAcquire(ctx context.Context, req Request) (Lease, error)
}

// A Tenure is a right to work that ends unless it is extended: a [Lease] or a [Group].
// Its methods may be called from any goroutine.
type Tenure interface {
	// Deadline is the end of the right to work. It is counted from before the first
	// message of the last successful round, less clock drift. Compare both its
	// monotonic reading and its wall clock, as Expired does.
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

// CheckStream reports a stream that Lockers do not accept: a name with anything but
// lower-case letters, digits and "-", or a plain lock with a stream or with Beside.
func (r Request) CheckStream() error {
	switch {
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
