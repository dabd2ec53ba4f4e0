package locking

import (
	"context"
	"time"
)

// A Token is a fencing token: a number that only grows per lock name. Whoever
// writes to a shared resource sends its token along, and the resource refuses
// one that is smaller than the largest it has seen. The zero Token is no token.
type Token uint64

// Mode says how often a tick may be run.
type Mode uint8

const (
	// AtMostOnce lets one attempt claim a tick, ever.
	AtMostOnce Mode = iota
	// AtLeastOnce lets another attempt claim a tick that was claimed but not
	// finished, once its lock has gone, with a larger token and attempt number.
	AtLeastOnce
)

// A Request asks for the right to work under a name.
type Request struct {
	// Name of the lock; for a scheduled job, the job's name.
	Name string
	// Tick is the scheduled instant that is claimed, in whole milliseconds.
	// The zero time asks for a plain lock that knows no ticks.
	Tick time.Time
	// Stream names the order of ticks that Tick belongs to; empty for that of the
	// schedule. A name has one lock and one sequence of tokens, but each stream
	// stands at a tick of its own: a tick of one neither closes nor hides the
	// same instant in another. What names a stream CheckStream says.
	Stream string
	// Beside lets the work go on beside that of other ticks which were asked for
	// with Beside too, in any stream: each has a share of the lock. Tokens grow and
	// ticks of a stream are claimed in order as ever, so a guard refuses the older
	// work once the newer has written. Requests without Beside wait for all of
	// them, and they for those. Not with a plain lock.
	Beside bool
	// Direct asks for the tick in one round instead of two, for whoever expects
	// to be alone, as the first in rank for a tick does: half the messages or less,
	// half the time. The claim may rest on a bare quorum until it is extended.
	// Competitors that meet divide the votes more often than with two rounds, and
	// never win wrongly; who was refused does better to ask again without it. No
	// effect on plain locks.
	Direct bool
	// TTL is how long the lease lasts unless it is extended.
	TTL time.Duration
	// Mode says whether a tick that was claimed but never finished may be
	// claimed again.
	Mode Mode
	// Holder is who asks, for humans. It is never used to tell owners apart.
	Holder string
	// Note is kept with the claim from the moment it is granted: what a reader
	// learns of a run whose process died before it could say how it ended.
	Note []byte
}

// A Locker decides for the whole cluster who may work.
type Locker interface {
	// TryAcquire makes one attempt and does not wait for anybody else's lease
	// to end. It returns an *AcquireError, whose Unwrap gives the sentinel that
	// says why, whenever the lease was not granted; joined with the context's
	// error if that ended first. A refused attempt leaves nothing behind that
	// keeps others from the lock.
	TryAcquire(ctx context.Context, req Request) (Lease, error)
}

// A Tenure is a right to work that ends unless it is extended: a [Lease], or
// the several of a [Group]. Its methods may be called from any goroutine.
type Tenure interface {
	// Deadline is the end of the right to work, counted from before the first
	// message of the last successful round, drift taken off. It carries a
	// monotonic reading; compare both that and the wall clock (Expired does).
	Deadline() time.Time

	// Extend moves the deadline to a full TTL from now. An error leaves the
	// deadline where it was: ErrLeaseLost when the lease can never be extended
	// again, as once its deadline has passed; anything else when another try may
	// succeed.
	Extend(ctx context.Context) error
}

// A Lease is the right to work under a name until its deadline. Its methods may
// be called from any goroutine.
type Lease interface {
	Tenure

	// Claim says what was granted. It never changes.
	Claim() Claim

	// Release ends the claim as done, keeps note with it for readers, and frees
	// the lock. It returns nil if the lease was held until then; ErrExpired if
	// it had run out, but nobody has claimed anything since, so that the claim
	// is closed all the same; ErrLeaseLost if others may have worked since. Once
	// it is decided, it returns the same again. A tick that was released is
	// never granted again.
	Release(ctx context.Context, note []byte) error

	// HandOver ends the claim as Release does, but the tick is not done: under
	// AtLeastOnce it may be granted again at once, with a larger token and attempt
	// number, under AtMostOnce never. The work must have ended.
	HandOver(ctx context.Context, note []byte) error

	// Void gives the claim back unused: the same tick may be granted again.
	// It must be called instead of Release, and only if the work never began.
	Void(ctx context.Context) error
}

// A Claim is what the cluster granted.
type Claim struct {
	Name    string
	Tick    time.Time
	Stream  string // as it was asked for; empty for the schedule
	Token   Token
	Attempt int  // counts the claims of one tick, from 1
	Beside  bool // as it was asked for
	Votes   Votes
	Poll    Poll // what each node said; zero if the Locker cannot tell
	// Granted is when the claim was issued, by the local clock.
	Granted time.Time
}

// Fence names the resource that the claim protects, by default the lock's name,
// and the token to write with: a Claim is a fence.Bearer.
func (c Claim) Fence() (resource string, token Token) { return c.Name, c.Token }

// Votes counts what the nodes said.
type Votes struct {
	For int // nodes that accepted
	Of  int // nodes there are
}

// Expired tells whether deadline has passed by the monotonic or by the wall
// clock, whichever is further: the monotonic clock stands still while a machine
// is suspended, and the wall clock can be set back.
func Expired(now, deadline time.Time) bool {
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}

// Left is how much longer the right to work lasts, by the monotonic or by the
// wall clock, whichever says less; 0 once it has expired.
func Left(t Tenure) time.Duration {
	now, deadline := time.Now(), t.Deadline()
	left := min(deadline.Sub(now), deadline.Round(0).Sub(now.Round(0)))
	return max(left, 0)
}
