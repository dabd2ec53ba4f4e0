package redlock

import (
	"context"
	"fmt"
	"slices"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// Evict releases a lock by an operator's decision, and returns its holder. If several
// runs overlap, token selects one; 0 selects the only holder. The holder learns of it
// at its next extension: its context ends with a *locking.EvictedError that carries
// reason.
//
// The claim stays: its tick is not run again unless it was requested AtLeastOnce, and
// its token stays used. Another holder may begin before the evicted one has noticed,
// which takes up to a third of a TTL. So keep resources fenced.
//
// Evict returns locking.ErrReason, locking.ErrNotHeld, locking.ErrSeveral, or an error that matches
// locking.ErrNoQuorum when fewer than a quorum answer. It may then be partly done;
// repeating it is harmless.
func Evict(ctx context.Context, set *membership.Set, name string, token locking.Token, reason string) (locking.Holding, error) {
	reason, err := locking.CleanReason(name, reason)
	if err != nil {
		return locking.Holding{}, err
	}
	held, err := holdersOf(ctx, set, name)
	if err != nil {
		return locking.Holding{}, err
	}
	h, err := choose(name, token, held)
	if err != nil {
		return locking.Holding{}, err
	}
	keys := scripts.EvictKeys(h.lock(set), set.Key("dead", h.owner))
	replies := set.Call(ctx, scripts.Evict, keys, h.owner, reason)
	_, err = set.Answers("releasing "+name, replies)
	return h.Holding, err
}

// choose returns the holding that the token selects.
func choose(name string, token locking.Token, held []holding) (holding, error) {
	may := slices.DeleteFunc(slices.Clone(held), func(h holding) bool {
		return !h.mayHold() || token != 0 && h.Token != token
	})
	switch {
	case len(may) == 0 && token != 0 && len(held) > 0:
		return holding{}, fmt.Errorf("%s: %w with token %d", name, locking.ErrNotHeld, token)
	case len(may) == 0:
		return holding{}, notHeld(name, held)
	case len(may) > 1 && may[0].Beside:
		return holding{}, fmt.Errorf("%s: %w: %v and %v; name the token", name, locking.ErrSeveral, may[0], may[1])
	}
	return may[0], nil
}

// lock is the key of the holding's lock.
func (h holding) lock(set *membership.Set) string {
	if !h.Beside {
		return set.JobKey(h.Name, "lock")
	}
	return scripts.TickLock(set, h.Name, h.Stream, h.Tick)
}

// notHeld describes the leftovers of a lock that no one holds.
func notHeld(name string, held []holding) error {
	switch {
	case len(held) == 0:
		return fmt.Errorf("%s: %w", name, locking.ErrNotHeld)
	case held[0].On.For > 0:
		return fmt.Errorf("%s: %w: %v holds it on only %d of %d nodes, and that lock will expire", name, locking.ErrNotHeld, held[0], held[0].On.For, held[0].On.Of)
	}
	return fmt.Errorf("%s: %w: the lease of %v has expired, but its run never reported an end", name, locking.ErrNotHeld, held[0])
}

// Forget deletes the nodes' data of a name that is no longer used: the claim of a job or
// plain lock, and the job's ledger and logs. A program that locks short-lived things should
// forget them, since the nodes keep each one's claim forever.
//
// Forget is safe even if the name is used again. Each node remembers, for all forgotten
// names together, the largest token and the latest tick. Tokens keep growing, and no
// tick up to then runs, of this job or of another that the nodes do not know.
//
// It returns locking.ErrUnknownName if there is nothing to forget. The error matches
// locking.ErrTaken while a node holds the lock, or up to a TTL after overlapping runs
// ended. It matches locking.ErrNoQuorum when fewer than a quorum have forgotten the
// name. Repeating it is harmless. A node that was not reached may keep its data: no
// node relies on what others have forgotten.
func Forget(ctx context.Context, set *membership.Set, name string) error {
	held, err := holdersOf(ctx, set, name)
	if err != nil {
		return err
	}
	if len(held) > 0 && held[0].On.For > 0 {
		return fmt.Errorf("%s: %w by %v on %d of %d nodes", name, locking.ErrTaken, held[0], held[0].On.For, held[0].On.Of)
	}
	replies := set.Call(ctx, scripts.Forget, scripts.ForgetKeys(set, name))
	if _, err := set.Answers("forgetting "+name, replies); err != nil {
		return err
	}
	return forgotten(name, set.Quorum(), replies)
}

// forgotten evaluates the answers of at least a quorum.
func forgotten(name string, quorum int, replies []membership.Reply) error {
	n := map[string]int{}
	for _, r := range replies {
		n[r.Code]++
	}
	switch {
	case n[codeBusy] > 0 && n[codeOK]+n["NONE"] < quorum:
		return fmt.Errorf("%s: %w: it is in use again", name, locking.ErrTaken)
	case n[codeOK] == 0:
		return fmt.Errorf("%s: %w", name, locking.ErrUnknownName)
	}
	return nil
}
