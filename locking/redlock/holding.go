package redlock

import (
	"fmt"
	"math"
	"time"

	"github.com/quorate/quorate/locking"
)

// Endless is the time left of a lock that never runs out by itself. This package
// sets none; somebody else has, who uses the same keys.
const Endless = time.Duration(math.MaxInt64)

// A Holding is one owner's part in a name: a lock that some nodes hold, or a
// claim whose run has not said how it ended.
type Holding struct {
	Name string
	// Holder is who asked, in its own words. It is empty if no claim names the
	// value of the lock: an attempt that has not got that far, or another
	// Redlock client that uses the same key.
	Holder string
	// Tick is the zero time for a plain lock; Stream is what it belongs to.
	Tick   time.Time
	Stream string
	// Beside: the owner has a share of the lock, see locking.Request.
	Beside bool
	// Token, Attempt, Mode and Since are those of the claim, Since by the nodes'
	// clocks; zero without one.
	Token   locking.Token
	Attempt int
	Mode    locking.Mode
	Since   time.Time
	// Left is how long a quorum still holds the lock for this owner, unless it
	// is extended: 0 if fewer than a quorum do, Endless if it never ends.
	Left time.Duration
	// On counts the nodes that hold the lock.
	On locking.Votes
	// Done: the claim was finished. Void: it was given back.
	Done, Void bool

	owner  string // the attempt's value
	open   int    // nodes without a lock that would set it again for the owner
	silent int    // nodes that did not answer
}

// Held tells whether a quorum holds the lock for this owner.
func (h Holding) Held() bool { return h.On.For >= h.quorum() }

// Known tells whether a claim names the owner.
func (h Holding) Known() bool { return h.Token != 0 }

func (h Holding) quorum() int { return h.On.Of/2 + 1 }

// mayHold tells whether a quorum may hold the lock for this owner, or come to
// hold it again by an extension. Nodes that did not answer may be part of it.
func (h Holding) mayHold() bool {
	return h.On.For+h.silent > 0 && h.On.For+h.open+h.silent >= h.quorum()
}

// String names the holder, its token and its tick.
func (h Holding) String() string {
	text := "an unknown holder"
	if h.Known() {
		text = fmt.Sprintf("%s with token %d", orSomebody(h.Holder), h.Token)
	}
	if !h.Tick.IsZero() {
		text += " for tick " + h.Tick.UTC().Format(time.RFC3339Nano)
	}
	return text
}

func orSomebody(holder string) string {
	if holder == "" {
		return "somebody"
	}
	return holder
}
