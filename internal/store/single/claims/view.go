package claims

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// A view is what was read of a name at one moment.
type view struct {
	name     string
	stamp    kv.Stamp
	versions map[kv.Key]uint64 // of all that was read; 0 for what does not exist
	claims   records.Claims
	leases   map[kv.Key]records.Lease // those that were read and exist
	entries  map[kv.Key]records.Entry // likewise
	// observed: the store has no clock. Stamp.Now is that of this process, and ends are the
	// ends of leases by it.
	observed bool
	ends     map[kv.Key]int64
	// incarnation is that of the stamp. With newIncarnation, no record has it yet.
	incarnation    records.Incarnation
	newIncarnation bool
	forgotten      records.Forgotten // of all names
}

// read reads the claims of a name, what concerns all names, and more: leases of the name, or
// an entry.
func (l *Locker) read(ctx context.Context, name string, more ...kv.Key) (view, error) {
	ctx, cancel := l.request(ctx)
	defer cancel()
	list, stamp, err := l.store.Read(ctx, append([]kv.Key{records.ClaimsKey(name), records.IncarnationKey(), records.ForgottenKey()}, more...)...)
	if err != nil {
		return view{}, err
	}
	v := view{name: name, stamp: stamp, versions: map[kv.Key]uint64{}, leases: map[kv.Key]records.Lease{}, entries: map[kv.Key]records.Entry{}}
	for _, r := range list {
		if err := v.add(r); err != nil {
			return view{}, err
		}
	}
	v.incarnation, v.newIncarnation = v.incarnation.Now(stamp, l.cfg.Grace)
	if !l.observer.hasClock(stamp.Now) {
		l.observe(&v)
	}
	return v, nil
}

// readAll reads all leases of the name that may count, too.
func (l *Locker) readAll(ctx context.Context, name string, more ...kv.Key) (view, error) {
	more = append(more, records.LeaseKey(name, records.Claim{}))
	for {
		v, err := l.read(ctx, name, more...)
		if err != nil {
			return v, err
		}
		unread := v.unread()
		if len(unread) == 0 {
			return v, nil
		}
		more = append(slices.Clone(more), unread...)
	}
}

// unread are the keys of the leases that may count and were not read.
func (v view) unread() []kv.Key {
	return slices.DeleteFunc(v.claims.LeaseKeys(v.name), func(k kv.Key) bool { _, read := v.versions[k]; return read })
}

// readPruned reads all leases of the name. If one transaction cannot compare them all, others
// first drop those that have expired.
func (l *Locker) readPruned(ctx context.Context, name string) (view, error) {
	for {
		v, err := l.readAll(ctx, name)
		if err != nil || len(v.claims.Earlier) <= l.maxPruned() {
			return v, err
		}
		after := v.claims
		var dropped []kv.Key
		if after.Earlier, dropped = v.prune(after.Earlier, l.maxPruned()); len(dropped) == 0 {
			return v, nil
		}
		txn := kv.Txn{Put: []kv.Write{records.Put(records.ClaimsKey(name), after)}}
		v.compare(&txn, records.ClaimsKey(name))
		for _, k := range dropped {
			v.drop(&txn, k)
			if _, read := v.versions[k]; read {
				v.compare(&txn, k)
			}
		}
		if _, _, err := l.commit(ctx, v, txn); err != nil {
			return v, err
		}
	}
}

// maxPruned is how many leases a transaction can compare and delete beside its other keys.
func (l *Locker) maxPruned() int { return l.store.Limits().Keys/2 - 8 }

// prune splits claims that have successors into those to keep, and the leases of those to
// drop: at most so many that have ended or whose lease has expired. An open claim whose lease
// was not read may still have it.
func (v view) prune(earlier []records.Claim, most int) (kept []records.Claim, dropped []kv.Key) {
	for _, e := range earlier {
		k := records.LeaseKey(v.name, e)
		_, read := v.versions[k]
		if len(dropped) == most || e.Open() && (!read || v.lasts(k)) {
			kept = append(kept, e)
		} else {
			dropped = append(dropped, k)
		}
	}
	return kept, dropped
}

// add takes a record of the name, or one that concerns all names.
func (v *view) add(r kv.Record) (err error) {
	v.versions[r.Key] = r.Version
	switch {
	case r.Key.Kind == kv.Claims:
		v.claims, err = records.Decode[records.Claims](r)
	case r.Key.Kind == kv.Entries && r.Version > 0:
		v.entries[r.Key], err = records.Decode[records.Entry](r)
	case r.Key == records.IncarnationKey():
		v.incarnation, err = records.UsableIncarnation(r)
	case r.Key == records.ForgottenKey():
		v.forgotten, err = records.Decode[records.Forgotten](r)
	case r.Version > 0:
		v.leases[r.Key], err = records.Decode[records.Lease](r)
	}
	return err
}

// node is the store, as rules see it. If it has no clock, no token is too large: the clock of
// the replica that gave it may have been wrong, and must not stop the others.
func (l *Locker) node(v view) protocol.Node {
	n := protocol.Node{
		Now: v.stamp.Now.UnixMilli(), Floor: v.incarnation.Floor(l.cfg.Grace), Grace: l.cfg.Grace.Milliseconds(),
		GCFence: v.forgotten.Fence, GCTick: v.forgotten.Tick,
	}
	if v.observed {
		ahead := protocol.TimeOf(max(v.claims.Fence, n.GCFence)).Sub(v.stamp.Now) + time.Second
		n.Grace = max(n.Grace, 2*ahead.Milliseconds())
	}
	return n
}

// forToken is the node that COMMIT asks about the token. An operator may have allowed tokens ahead
// of the clock in this incarnation: LOCK has checked the tick by the clock before.
func (v view) forToken(n protocol.Node) protocol.Node {
	if v.incarnation.AheadIn == v.incarnation.ID {
		n.Grace = max(n.Grace, 2*(v.incarnation.Ahead-n.Now))
	}
	return n
}

// state is the name's state, as rules see it. A lease is in it if it counts.
func (v view) state() protocol.State {
	s := protocol.State{
		Fence: v.claims.Fence, Open: v.claims.Open, Streams: v.claims.Streams,
		TickLocks: map[protocol.TickKey]protocol.Lease{}, Tombstones: map[string]protocol.Tombstone{},
	}
	for k, lease := range v.leases {
		lock := protocol.Lease{Owner: lease.Owner, Committed: true, Until: v.until(k)}
		switch c := v.claims.Of(lease.Owner); {
		case !c.Open():
		case c.Overlaps:
			s.TickLocks[protocol.TickKey{Stream: c.Stream, Tick: c.Tick}] = lock
			s.Marker = max(s.Marker, lock.Until)
		default:
			s.Lock = lock
		}
		for _, e := range lease.Evicted {
			if v.needs(e) {
				s.Tombstones[e.Owner] = protocol.Tombstone{Reason: e.Reason, Until: max(e.Until, v.stamp.Now.UnixMilli())}
			}
		}
	}
	return s
}

// endOf is what FINISH has answered to an owner, "" if it has not. Its entry tells also when
// another claim has taken the place of its claim.
func (v view) endOf(owner string) protocol.Code {
	e := v.entryOf(owner)
	for code, kind := range endKinds {
		if e.Owner == owner && e.Kind == kind {
			return code
		}
	}
	return v.claims.Of(owner).Ended
}

// entryOf is the entry of an owner's run. A try that lost may have had the tick and the token of
// another's.
func (v view) entryOf(owner string) records.Entry {
	for _, e := range v.entries {
		if e.Owner == owner {
			return e
		}
	}
	return records.Entry{}
}

// after returns the claims that s has. One whose stream has a later claim stays as an earlier
// one if their runs may overlap.
func (v view) after(s protocol.State) records.Claims {
	c := records.Claims{Fence: s.Fence, Open: s.Open, Streams: s.Streams, Earlier: slices.Clone(v.claims.Earlier)}
	for stream, claim := range s.Streams {
		before := v.claims.Streams[stream]
		if before.Overlaps && records.LeaseKey(v.name, before) != records.LeaseKey(v.name, claim) {
			c.Earlier = append(c.Earlier, before)
		}
	}
	return c
}

// afterEnd is after for the state in which FINISH has left a claim, which may be an earlier one.
func (v view) afterEnd(s protocol.State, owner string, code protocol.Code, handed bool) records.Claims {
	c := v.after(s)
	for i, e := range c.Earlier {
		if e.Owner == owner && e.Open() {
			c.Earlier[i].Ended, c.Earlier[i].Handed = code, handed
		}
	}
	return c
}

// until is the last millisecond of the lease with the key.
func (v view) until(k kv.Key) int64 {
	if end, observed := v.ends[k]; observed {
		return end
	}
	return v.leases[k].Until
}

// lasts reports whether the lease with the key counts.
func (v view) lasts(k kv.Key) bool {
	lease := v.leases[k]
	lease.Until = v.until(k)
	return lease.Of(v.claims, v.stamp.Now).Open()
}

// evicted returns the tombstones at a key that are still needed.
func (v view) evicted(k kv.Key) []records.Eviction {
	return slices.DeleteFunc(slices.Clone(v.leases[k].Evicted), func(e records.Eviction) bool { return !v.needs(e) })
}

// needs reports whether a tombstone is still needed. While the claim is open, its holder could
// set the lease again, whatever a clock says.
func (v view) needs(e records.Eviction) bool {
	return v.claims.Of(e.Owner).Open() || v.stamp.Now.UnixMilli() <= e.Until
}

// drop makes the transaction delete the lease at a key, but for its tombstones.
func (v view) drop(t *kv.Txn, k kv.Key) {
	if list := v.evicted(k); len(list) > 0 {
		t.Put = append(t.Put, records.Put(k, records.Lease{Evicted: list}))
		return
	}
	t.Delete = append(t.Delete, k)
}

// compare makes the transaction lose if a record with one of the keys has changed.
func (v view) compare(t *kv.Txn, keys ...kv.Key) {
	for _, k := range keys {
		t.If = append(t.If, kv.Compare{Key: k, Version: v.versions[k]})
	}
}

// compareLeases does so for all leases that were read.
func (v view) compareLeases(t *kv.Txn) {
	for k := range v.versions {
		if k.Kind == kv.Leases {
			v.compare(t, k)
		}
	}
}

// commit commits t, which rests on v, and notes a new incarnation. It returns the time before the
// request.
func (l *Locker) commit(ctx context.Context, v view, t kv.Txn) (kv.Outcome, time.Time, error) {
	t.Incarnation = v.stamp.Incarnation
	v.compare(&t, records.IncarnationKey())
	if v.newIncarnation {
		t.Put = append(t.Put, records.PutIncarnation(v.incarnation))
	}
	ctx, cancel := l.request(ctx)
	defer cancel()
	sent := time.Now()
	o, err := l.store.Commit(ctx, t)
	if o.Stamp.Now.IsZero() {
		o.Stamp.Now = sent
	}
	return o, sent, err
}

// endKinds are the kinds of the entry of a run, by what FINISH answered.
var endKinds = map[protocol.Code]records.Kind{
	protocol.OK: records.Finished, protocol.RanOut: records.RanOut, protocol.Late: records.Late,
}
