package claims

import (
	"context"
	"fmt"
	"slices"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// Evict releases a lock by an operator's decision, and returns its holder. If several runs
// overlap, token selects one; 0 selects the only holder. The holder learns of it at its next
// extension: its context ends with a *locking.EvictedError that carries reason.
//
// The claim stays: its tick is not run again unless it was requested AtLeastOnce, and its
// token stays used. Another holder may begin before the evicted one has noticed, which takes
// up to a third of a TTL. So keep resources fenced.
//
// Evict returns locking.ErrReason, locking.ErrNotHeld, locking.ErrSeveral, or an error that
// matches locking.ErrNoQuorum when the store does not answer. It may then be done;
// repeating it is harmless.
func (l *Locker) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	reason, err := locking.CleanReason(name, reason)
	if err != nil {
		return locking.Holding{}, err
	}
	for ctx.Err() == nil {
		held, err := l.holdings(ctx, kv.Of(kv.Claims, name), kv.Of(kv.Leases, name))
		if err != nil {
			return locking.Holding{}, kv.Failed("asking who holds "+name, err)
		}
		h, err := choose(name, token, held)
		if err != nil {
			return locking.Holding{}, err
		}
		done, err := l.evict(ctx, h, reason)
		if err != nil {
			return h.Holding, kv.Failed("releasing "+name, err)
		}
		if done {
			return h.Holding, nil
		}
		token = h.Token // no other holder takes its place
	}
	return locking.Holding{}, retry.Ended(ctx, kv.ErrUnavailable)
}

// choose returns the holding that the token selects.
func choose(name string, token locking.Token, held []holding) (holding, error) {
	if len(held) > 0 && held[0].unreadable != nil {
		return holding{}, fmt.Errorf("%s: its claims cannot be read: %w", name, held[0].unreadable)
	}
	may := slices.DeleteFunc(slices.Clone(held), func(h holding) bool { return !h.Held() || token != 0 && h.Token != token })
	switch {
	case len(may) == 0 && token != 0 && len(held) > 0:
		return holding{}, fmt.Errorf("%s: %w with token %d", name, locking.ErrNotHeld, token)
	case len(may) == 0 && len(held) > 0:
		return holding{}, fmt.Errorf("%s: %w: the lease of %v has expired, but its run never reported an end", name, locking.ErrNotHeld, held[0])
	case len(may) == 0:
		return holding{}, fmt.Errorf("%s: %w", name, locking.ErrNotHeld)
	case len(may) > 1:
		return holding{}, fmt.Errorf("%s: %w: %v and %v; name the token", name, locking.ErrSeveral, may[0], may[1])
	}
	return may[0], nil
}

// evict replaces the lease by a tombstone, which outlasts any pause between two extensions.
// It reports false if the lease has changed since.
func (l *Locker) evict(ctx context.Context, h holding, reason string) (bool, error) {
	v, err := l.read(ctx, h.Name, h.lease.Key)
	if err != nil {
		return false, err
	}
	if v.versions[h.lease.Key] != h.lease.Version {
		return false, nil
	}
	txn := kv.Txn{Put: []kv.Write{records.Put(h.lease.Key, records.Lease{Evicted: append(v.evicted(h.lease.Key), records.Eviction{
		Owner: h.owner, Reason: reason, Until: v.stamp.Now.Add(2 * l.cfg.Grace).UnixMilli(),
	})})}}
	v.compare(&txn, h.lease.Key)
	o, _, err := l.commit(ctx, v, txn)
	return o.Won, err
}
