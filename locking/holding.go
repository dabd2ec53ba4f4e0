package locking

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

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
