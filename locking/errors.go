package locking

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why a lease was not granted, or not kept. Match them with errors.Is; an *AcquireError
// has details.
var (
	// ErrTaken: another holder has the lock; Holder and Until say who and for how long.
	// Trying again makes sense, as that lease may end.
	ErrTaken = errors.New("lock is held")
	// ErrUnclaimed: a competitor has the locks of a quorum, but no claim is known. It is
	// about to claim, or it stopped in between. It matches ErrTaken too.
	ErrUnclaimed = fmt.Errorf("%w by a try without a claim", ErrTaken)
	// ErrClaimed: a quorum agrees that another attempt owns this tick. Its owner either
	// runs the tick, or voids the claim because the votes arrived too late. After
	// voiding it must try again or record why the tick did not run.
	ErrClaimed = errors.New("tick is claimed")
	// ErrDone: this tick was run and finished.
	ErrDone = errors.New("tick is done")
	// ErrSuperseded: a later tick was claimed, so this one never can be.
	ErrSuperseded = errors.New("a later tick was claimed")
	// ErrUnvouched: too many nodes may have lost their memory after this tick's time.
	// No one can tell any more whether the tick has run, so it never will.
	ErrUnvouched = errors.New("the store can no longer vouch for the tick")
	// ErrSplit: competitors divided the votes. Try again after a random delay.
	ErrSplit = errors.New("competitors blocked one another")
	// ErrNoQuorum: too few nodes answered.
	ErrNoQuorum = errors.New("no quorum of nodes answered")
	// ErrSilent: the node asked by a Watch did not answer in time. Nothing else returns
	// it.
	ErrSilent = errors.New("no answer in time")
	// ErrTooSlow: a quorum granted the claim, but too late to leave any validity.
	ErrTooSlow = errors.New("validity was used up before the claim was complete")
	// ErrFuture: the request lies too far ahead of the nodes' clocks.
	ErrFuture = errors.New("the local clock is ahead of the store's")
	// ErrNodeAhead: without the nodes whose tokens are ahead of the other nodes'
	// clocks, no quorum is left. Nodes names them. It passes when the other clocks
	// catch up, or enough other nodes answer.
	ErrNodeAhead = errors.New("tokens are ahead of the clocks of the store")
	// ErrRefused: the store, or a quorum's worth of nodes, has answered and refuses: it
	// lacks rights, a login, space or a setting, or this client is configured for another
	// cluster. The text says what to change; once that is done, a later try succeeds.
	ErrRefused = errors.New("refused by the store")

	// ErrLeaseLost means that the right to work is gone: others may work, or have
	// worked since. It is the cause with which a held context ends, and what Extend and
	// Release return.
	ErrLeaseLost = errors.New("lease lost")
	// ErrMaxHold is the cause with which a context ends that was held for
	// KeepConfig.MaxHold. It matches ErrLeaseLost too, since the work must stop for the
	// same reason: others may begin.
	ErrMaxHold = fmt.Errorf("%w: it was held for as long as max_hold allows", ErrLeaseLost)
	// ErrExpired is what Release returns when the lease had expired but no one has
	// claimed anything since. The claim is closed and its note kept, as by any other
	// release; but others could have begun before that. It does not match ErrLeaseLost.
	ErrExpired = errors.New("lease had expired before it was released")
)

// An EvictedError says that an operator released the lock of a running holder. It
// matches ErrLeaseLost.
type EvictedError struct {
	// Reason is the operator's text.
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
	// Holder of the lock or the tick, if a node named one.
	Holder string
	// HolderTick and HolderToken belong to that holder; zero if unknown.
	HolderTick  time.Time
	HolderToken Token
	// Until is when the blocking lock ends unless it is extended, by the local clock;
	// zero if unknown.
	Until time.Time
	// Votes are those the attempt won; zero if no nodes vote.
	Votes Votes
	// Nodes lists the refusals and failures, in the order of the configuration; of a store
	// without nodes its own.
	Nodes []NodeError
	// MayShow says that others may have seen the claim as granted, or may see it so for a while,
	// until all nodes know that it was given up. They then take the tick as claimed.
	MayShow bool
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

// Unwrap returns the node's error.
func (e NodeError) Unwrap() error { return e.Err }

// Error names the lock, the reason, the holder, and each refusal.
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
	if answers := e.answers(); len(answers) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(answers, "; "))
	}
	return b.String()
}

// answers are the votes and each refusal. A store without nodes has no votes and no name.
func (e *AcquireError) answers() []string {
	var list []string
	if e.Votes.Of > 0 {
		list = append(list, fmt.Sprintf("%d of %d votes", e.Votes.For, e.Votes.Of))
	}
	for _, n := range e.Nodes {
		if e.Votes.Of > 0 {
			list = append(list, n.Error())
		} else {
			list = append(list, n.Err.Error())
		}
	}
	return list
}

// stamp writes t to the millisecond.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }

// Unwrap returns the reason.
func (e *AcquireError) Unwrap() error { return e.Reason }
