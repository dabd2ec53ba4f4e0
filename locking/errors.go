package locking

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why a lease was not granted, or not kept. Match them with errors.Is; an
// *AcquireError says more.
var (
	// ErrTaken: somebody else holds the lock. Holder and Until say who and for
	// how long. Their lease may end, so trying again makes sense.
	ErrTaken = errors.New("lock is held")
	// ErrClaimed: this very tick belongs to another attempt, by agreement of a
	// quorum. Whoever it is runs it, or, if it heard too late, voids the claim
	// and must then try the tick again or record why it did not run.
	ErrClaimed = errors.New("tick is claimed")
	// ErrDone: this tick was run and finished.
	ErrDone = errors.New("tick is done")
	// ErrSuperseded: a later tick was claimed, so this one never can be.
	ErrSuperseded = errors.New("a later tick was claimed")
	// ErrUnvouched: too many nodes lost their memory, or may have, after this
	// tick's time. Nobody can say any more whether it has run, so it never will.
	ErrUnvouched = errors.New("too few nodes can vouch for the tick")
	// ErrSplit: competitors divided the votes. Try again after a random delay.
	ErrSplit = errors.New("votes were split")
	// ErrNoQuorum: too few nodes answered.
	ErrNoQuorum = errors.New("no quorum of nodes answered")
	// ErrSilent: the node that was to say what it knows did not answer in time.
	// Only a Watch, which asks one node, returns it.
	ErrSilent = errors.New("the node did not answer in time")
	// ErrTooSlow: the votes were there, but too late to leave any validity.
	ErrTooSlow = errors.New("validity was used up before the claim was complete")
	// ErrFuture: the request lies too far ahead of the nodes' clocks.
	ErrFuture = errors.New("the local clock is ahead of the nodes")
	// ErrNodeAhead: too few nodes are left without those that count tokens ahead of the
	// others' clocks. Nodes names them. It passes when the other clocks have come as
	// far, or once enough other nodes answer.
	ErrNodeAhead = errors.New("a node counts tokens that the clocks of the others do not allow yet")
	// ErrRefused: nodes refuse this client: it is configured for another
	// cluster. Trying again cannot help; the text says what to change.
	ErrRefused = errors.New("refused by the nodes")

	// ErrLeaseLost is the cause with which a held context ends, and what
	// Extend and Release return, when the right to work has gone: somebody else
	// may work, or has worked since.
	ErrLeaseLost = errors.New("lease lost")
	// ErrMaxHold is the cause with which a held context ends that was held for
	// as long as HoldConfig.MaxHold allows. It matches ErrLeaseLost too, since
	// the work must stop for the same reason: others may begin.
	ErrMaxHold = fmt.Errorf("%w: it was held for as long as max_hold allows", ErrLeaseLost)
	// ErrExpired is what Release returns when the lease had run out before, yet
	// nobody has claimed anything since: the claim is closed and its note kept
	// as by any other release, but while it lay open others could have begun.
	// It does not match ErrLeaseLost.
	ErrExpired = errors.New("lease had run out before it was released")
)

// An EvictedError says that somebody took the lease away from its holder on
// purpose. It matches ErrLeaseLost.
type EvictedError struct {
	// Reason is what the operator wrote.
	Reason string
}

func (e *EvictedError) Error() string {
	return ErrLeaseLost.Error() + ": released by an operator: " + e.Reason
}

// Is makes an EvictedError match ErrLeaseLost.
func (e *EvictedError) Is(target error) bool { return target == ErrLeaseLost }

// An AcquireError says why a lease was not granted.
type AcquireError struct {
	// Reason is one of the sentinels of this package.
	Reason error
	Name   string
	// Holder of the lock and of the tick, where nodes named one.
	Holder string
	// HolderTick and HolderToken are what that holder works on; zero if unknown.
	HolderTick  time.Time
	HolderToken Token
	// Until is when the lock found in the way ends unless it is extended, by
	// the local clock; zero if unknown.
	Until time.Time
	// Votes that the attempt won.
	Votes Votes
	// Nodes says per node what went wrong there, in the order of the
	// configuration; nodes that accepted are left out.
	Nodes []NodeError
}

// A NodeError is one node's refusal or failure.
type NodeError struct {
	Node string
	Err  error
}

func (e NodeError) Error() string {
	text := e.Err.Error()
	if strings.HasPrefix(text, e.Node+": ") {
		return text // it names the node itself
	}
	return e.Node + ": " + text
}

// Unwrap returns what went wrong at the node.
func (e NodeError) Unwrap() error { return e.Err }

// Error names the lock, the reason, who is in the way, and each unwilling node.
func (e *AcquireError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", e.Name, e.Reason)
	if e.Holder != "" {
		fmt.Fprintf(&b, " by %s", e.Holder)
	}
	if e.HolderToken != 0 {
		fmt.Fprintf(&b, " with token %d", e.HolderToken)
	}
	if !e.HolderTick.IsZero() {
		fmt.Fprintf(&b, " for tick %s", stamp(e.HolderTick))
	}
	if !e.Until.IsZero() {
		fmt.Fprintf(&b, " until %s", stamp(e.Until))
	}
	fmt.Fprintf(&b, " (%d of %d votes", e.Votes.For, e.Votes.Of)
	for _, n := range e.Nodes {
		fmt.Fprintf(&b, "; %s", n.Error())
	}
	b.WriteString(")")
	return b.String()
}

// stamp writes t to the millisecond.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }

// Unwrap returns the reason.
func (e *AcquireError) Unwrap() error { return e.Reason }
