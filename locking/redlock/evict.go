package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// ErrNotHeld is what Evict returns where nobody holds the lock.
var ErrNotHeld = errors.New("nobody holds the lock")

// MinReason and MaxReason bound what every node keeps of an operator's words, in
// bytes.
const (
	MinReason = 2
	MaxReason = 500
)

// ErrSeveral is what Evict returns where several hold shares of the lock and it
// was not told which token is meant.
var ErrSeveral = errors.New("several work beside one another")

// ErrReason is what Evict returns for a reason that the nodes cannot keep.
var ErrReason = errors.New("the reason does not fit")

// Evict takes the lock of a name away from whoever holds it, by an operator's
// decision, and returns who that was. Where several work beside one another,
// token says who is meant; 0 is whoever holds it alone. The holder learns it at its next
// extension: its work's context ends with a *locking.EvictedError that carries
// the reason, which must be a few words on one line.
//
// The claim stays: its tick is not run again unless it was requested
// AtLeastOnce, and its token stays used. But somebody else may begin before the
// holder has noticed, a third of a TTL later at most: keep sinks fenced.
//
// It returns ErrReason, ErrNotHeld, ErrSeveral, or an error matching locking.ErrNoQuorum when fewer
// than a quorum answer. Part of it may be done then; asking again is harmless.
func Evict(ctx context.Context, set *nodes.Set, name string, token locking.Token, reason string) (Holding, error) {
	reason = strings.Join(strings.Fields(reason), " ")
	if len(reason) < MinReason || len(reason) > MaxReason {
		return Holding{}, fmt.Errorf("releasing %s: %w: it has %d bytes; say why in %d to %d", name, ErrReason, len(reason), MinReason, MaxReason)
	}
	held, err := holdersOf(ctx, set, name)
	if err != nil {
		return Holding{}, err
	}
	h, err := choose(name, token, held)
	if err != nil {
		return Holding{}, err
	}
	keys := []string{set.JobKey(name, "lock"), set.Key("dead", h.owner), set.JobKey(name, "shares")}
	replies := set.Call(ctx, evictScript, keys, h.owner, reason, h.place())
	_, err = answered(set, "releasing "+name, reports(replies))
	return h, err
}

// choose returns the holder that is meant.
func choose(name string, token locking.Token, held []Holding) (Holding, error) {
	may := slices.DeleteFunc(slices.Clone(held), func(h Holding) bool {
		return !h.mayHold() || token != 0 && h.Token != token
	})
	switch {
	case len(may) == 0 && token != 0 && len(held) > 0:
		return Holding{}, fmt.Errorf("%s: %w with token %d", name, ErrNotHeld, token)
	case len(may) == 0:
		return Holding{}, notHeld(name, held)
	case len(may) > 1 && may[0].Beside:
		return Holding{}, fmt.Errorf("%s: %w: %v and %v; say which token is meant", name, ErrSeveral, may[0], may[1])
	}
	return may[0], nil
}

// place is where the nodes keep the owner's share.
func (h Holding) place() string {
	if !h.Beside {
		return ""
	}
	return fmt.Sprintf("%s:%d.", h.Stream, h.Tick.UnixMilli())
}

// notHeld says what there is of a name that nobody holds.
func notHeld(name string, held []Holding) error {
	switch {
	case len(held) == 0:
		return fmt.Errorf("%s: %w", name, ErrNotHeld)
	case held[0].On.For > 0:
		return fmt.Errorf("%s: %w: %v has it on %d of %d nodes only, which ends by itself", name, ErrNotHeld, held[0], held[0].On.For, held[0].On.Of)
	}
	return fmt.Errorf("%s: %w: that of %v has run out, though its run never said how it ended", name, ErrNotHeld, held[0])
}

func reports(replies []nodes.Reply) []report {
	list := make([]report, len(replies))
	for i, r := range replies {
		list[i] = report{node: r.Node, err: r.Err}
	}
	return list
}
