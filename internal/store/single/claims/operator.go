package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
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
			if err := l.checkIdle(ctx, stamp.Incarnation, r); err != nil {
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

// checkIdle returns an error if the claims have changed, or a transaction that may change them is
// under way: one that compares them waits for it.
func (l *Locker) checkIdle(ctx context.Context, incarnation string, claims kv.Record) error {
	o, err := l.store.Commit(ctx, kv.Txn{Incarnation: incarnation, If: []kv.Compare{{Key: claims.Key, Version: claims.Version}}})
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
		Name: name, Holder: c.Note, Stream: c.Stream, Beside: c.Overlaps, Token: locking.Token(c.Token), Attempt: c.Attempt,
		Since: protocol.TimeOf(c.Token).UTC(), On: locking.Votes{Of: 1},
	}}
	if c.Mode == protocol.AtLeastOnce {
		h.Mode = locking.AtLeastOnce
	}
	if c.Tick != 0 {
		h.Tick = time.UnixMilli(c.Tick).UTC()
	}
	return h
}

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

// page is how many records Forget reads or deletes at a time: logs are large.
const page = 100

// Forget deletes the data of a name that is no longer used: the claims of a job or plain lock,
// and the job's ledger and logs. It is safe even if the name is used again: the store
// remembers, for all forgotten names together, the largest token and the latest tick. Tokens
// keep growing, and no tick up to then runs, of this job or of another that the store does
// not know.
//
// It returns locking.ErrUnknownName if there is nothing to forget. The error matches
// locking.ErrTaken while the lock is held, and locking.ErrNoQuorum when the store does not
// answer. Repeating it is harmless.
func (l *Locker) Forget(ctx context.Context, name string) error {
	var past []kv.Key // its entries and logs; runs of a later claim of the name are not among them
	for _, r := range []kv.Range{kv.Of(kv.Entries, name), kv.Of(kv.Logs, name)} {
		r.Limit = page
		err := kv.Each(ctx, l.store, r, func(some []kv.Record, _ kv.Stamp) error {
			for _, record := range some {
				past = append(past, record.Key)
			}
			return nil
		})
		if err != nil {
			return kv.Failed("forgetting "+name, err)
		}
	}
	code, err := l.forgetClaims(ctx, name)
	switch {
	case err != nil:
		return err
	case code == protocol.None && len(past) == 0:
		return fmt.Errorf("%s: %w", name, locking.ErrUnknownName)
	}
	for some := range slices.Chunk(past, page) {
		if err := l.remove(ctx, name, some); err != nil {
			return kv.Failed("forgetting "+name, err)
		}
	}
	return nil
}

// forgetClaims applies FORGET, rule N8, until a transaction wins.
func (l *Locker) forgetClaims(ctx context.Context, name string) (protocol.Code, error) {
	for ctx.Err() == nil {
		code, err := l.forgetOnce(ctx, name)
		switch {
		case err != nil:
			return "", kv.Failed("forgetting "+name, err)
		case code == protocol.Busy:
			return "", fmt.Errorf("%s: %w", name, locking.ErrTaken)
		case code != "":
			return code, nil
		}
	}
	return "", retry.Ended(ctx, kv.ErrUnavailable)
}

// forgetOnce returns the answer of the rule, or none if the transaction lost.
func (l *Locker) forgetOnce(ctx context.Context, name string) (protocol.Code, error) {
	v, err := l.readPruned(ctx, name)
	if err != nil {
		return "", err
	}
	for k, end := range v.ends { // an operator need not observe: clocks will do
		v.ends[k] = min(end, v.leases[k].Until+l.cfg.Grace.Milliseconds()/2)
	}
	_, n, a := protocol.Forget(v.state(), l.node(v))
	switch {
	case a.Code == protocol.Busy:
		return a.Code, nil
	case v.versions[records.ClaimsKey(name)] == 0:
		return protocol.None, nil
	}
	leases, _, err := l.store.List(ctx, kv.Of(kv.Leases, name))
	if err != nil {
		return "", err
	}
	txn := kv.Txn{
		Put:    []kv.Write{records.Put(records.ForgottenKey(), records.Forgotten{Fence: n.GCFence, Tick: n.GCTick})},
		Delete: []kv.Key{records.ClaimsKey(name)},
	}
	for _, r := range leases[0] { // those of a later claim come with other claims
		if _, read := v.versions[r.Key]; !read { // it may have tombstones
			err = errors.Join(err, v.add(r))
		}
		v.drop(&txn, r.Key)
	}
	if err != nil {
		return "", err
	}
	v.compare(&txn, records.ClaimsKey(name), records.ForgottenKey())
	v.compareLeases(&txn)
	o, _, err := l.commit(ctx, v, txn)
	if err != nil || !o.Won {
		return "", err
	}
	return a.Code, nil
}

// remove deletes records of a name, in one transaction.
func (l *Locker) remove(ctx context.Context, name string, keys []kv.Key) error {
	for wait := time.Duration(0); ; wait = l.cfg.nextPause(wait) {
		v, err := l.read(ctx, name)
		if err != nil {
			return err
		}
		if o, _, err := l.commit(ctx, v, kv.Txn{Delete: keys}); err != nil || o.Won {
			return err
		}
		if !retry.Sleep(ctx, wait) {
			return retry.Ended(ctx, kv.ErrUnavailable)
		}
	}
}
