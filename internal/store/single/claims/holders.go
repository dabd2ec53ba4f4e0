package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// Holders lists the locks that are held, and the claims that were neither finished nor given
// back. It covers jobs and plain locks, sorted by name. If the store does not answer, the
// error matches locking.ErrNoQuorum.
func (l *Locker) Holders(ctx context.Context) ([]locking.Holding, error) {
	held, err := l.holdings(ctx, kv.All(kv.Claims), kv.All(kv.Leases))
	if err != nil {
		return nil, kv.Failed("listing the locks", err)
	}
	var list []locking.Holding
	for _, h := range held {
		list = append(list, h.Holding)
	}
	return list, nil
}

// Latest lists the latest claims of all streams, sorted by name and stream, and returns the
// largest token. Done means that no replica may run the tick again. It fails while a transaction
// may end a run.
func (l *Locker) Latest(ctx context.Context) (list []locking.Holding, fence uint64, err error) {
	found, stamp, err := l.store.List(ctx, kv.All(kv.Claims))
	if err != nil {
		return nil, 0, kv.Failed("listing the claims", err)
	}
	for _, r := range found[0] {
		c, err := records.Decode[records.Claims](r)
		if err != nil {
			return nil, 0, err
		}
		if slices.ContainsFunc(c.All(), records.Claim.Open) {
			if err := l.unlocked(ctx, stamp.Life, r); err != nil {
				return nil, 0, err
			}
		}
		fence = max(fence, c.Fence)
		for _, stream := range slices.Sorted(maps.Keys(c.Streams)) {
			last := c.Streams[stream]
			h := newHolding(r.Key.Name, last).Holding
			h.Void, h.Done = last.Void, last.Ended != "" && !last.Handed
			list = append(list, h)
		}
	}
	return list, fence, nil
}

// unlocked returns an error if the claims have changed, or a transaction that may change them is
// under way: one that compares them waits for it.
func (l *Locker) unlocked(ctx context.Context, life string, claims kv.Record) error {
	o, err := l.store.Commit(ctx, kv.Txn{Life: life, If: []kv.Compare{{Key: claims.Key, Version: claims.Version}}})
	switch {
	case errors.Is(err, kv.ErrLocked):
		return fmt.Errorf("a transaction that may end the run of %s is under way: end it in the database, or wait", claims.Key.Name)
	case err != nil:
		return kv.Failed("comparing the claims of "+claims.Key.Name, err)
	case !o.Won:
		return fmt.Errorf("the claims of %s have just changed: %w", claims.Key.Name, locking.ErrSplit)
	}
	return nil
}

// unreadableHolder stands for the holder of a lock whose claims or leases cannot be read.
const unreadableHolder = "unreadable"

// A holding is a locking.Holding with the lease to release.
type holding struct {
	locking.Holding
	owner      string
	lease      kv.Record
	unreadable error // why nothing is known of the lock but its name
}

// holdings lists what is held among the claims and leases, those of a name with the lease
// first.
func (l *Locker) holdings(ctx context.Context, claims, leases kv.Range) ([]holding, error) {
	ctx, cancel := l.request(ctx)
	defer cancel()
	found, stamp, err := l.store.List(ctx, claims, leases)
	if err != nil {
		return nil, err
	}
	leasesOf := map[string][]kv.Record{}
	for _, r := range found[1] {
		leasesOf[r.Key.Name] = append(leasesOf[r.Key.Name], r)
	}
	var list []holding
	for _, r := range found[0] {
		c, err := records.Decode[records.Claims](r)
		var some []holding
		if err == nil {
			some, err = holdingsOf(r.Key.Name, c, leasesOf[r.Key.Name], records.AsOf(stamp, l.cfg.Grace))
		}
		if err != nil {
			l.cfg.Unreadable.Skipped(r.Key.String(), err)
			some = []holding{{unreadable: err, Holding: locking.Holding{Name: r.Key.Name, Holder: unreadableHolder, On: locking.Votes{Of: 1}}}}
		}
		list = append(list, some...)
	}
	return list, nil
}

// holdingsOf lists the owners whose lease counts, and that of the latest claim if that is open.
func holdingsOf(name string, claims records.Claims, leases []kv.Record, now time.Time) ([]holding, error) {
	var list []holding
	for _, r := range leases {
		lease, err := records.Decode[records.Lease](r)
		if err != nil {
			return nil, err
		}
		if c := lease.Of(claims, now); c.Owner != "" {
			h := newHolding(name, c)
			h.On.For, h.Left, h.lease = 1, time.Duration(lease.Until+1-now.UnixMilli())*time.Millisecond, r
			if lease.TTL > 0 {
				h.Left = min(h.Left, time.Duration(lease.TTL+1)*time.Millisecond)
			}
			list = append(list, h)
		}
	}
	open := claims.Of(claims.Open)
	if open.Open() && !slices.ContainsFunc(list, func(h holding) bool { return h.owner == open.Owner }) {
		list = append(list, newHolding(name, open))
	}
	slices.SortFunc(list, func(a, b holding) int { return cmp.Or(cmp.Compare(b.On.For, a.On.For), cmp.Compare(b.Token, a.Token)) })
	return list, nil
}

func newHolding(name string, c records.Claim) holding {
	h := holding{owner: c.Owner, Holding: locking.Holding{
		Name: name, Holder: c.Holder, Stream: c.Stream, Beside: c.Overlaps, Token: locking.Token(c.Token), Attempt: c.Attempt,
		Since: timeOf(c.Token).UTC(), On: locking.Votes{Of: 1},
	}}
	if c.Rerun {
		h.Mode = locking.AtLeastOnce
	}
	if c.Tick != 0 {
		h.Tick = time.UnixMilli(c.Tick).UTC()
	}
	return h
}
