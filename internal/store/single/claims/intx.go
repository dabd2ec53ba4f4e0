package claims

import (
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// EndInTransaction is rule N5 for a transaction of the job's function, which has locked the record of
// the claims: it returns what to write, and whether the lease lasts. Lease reads the record of a lease. The
// error is one of package finishtx, or that of lease.
func EndInTransaction(all kv.Record, lease func(kv.Key) (kv.Record, error), now time.Time, end finishtx.End) (puts []kv.Write, held bool, err error) {
	v := view{name: end.Job, stamp: kv.Stamp{Now: now}, versions: map[kv.Key]uint64{}, leases: map[kv.Key]records.Lease{}, entries: map[kv.Key]records.Entry{}}
	if err := v.add(all); err != nil {
		return nil, false, err
	}
	// No claim of the owner may be one that was overtaken, or the claim of another store: the tokens of two
	// stores have no order. The replica tells, which knows its store.
	c := v.claims.Of(end.Owner)
	switch {
	case c.Token != end.Token, c.Void, c.Tick == 0:
		return nil, false, finishtx.ErrNoClaim
	case c.Ended != "":
		return nil, false, finishtx.ErrEnded
	}
	r, err := lease(records.LeaseKey(end.Job, c))
	if err == nil {
		err = v.add(r)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the lease: %w", err)
	}
	t := protocol.Try{Owner: c.Owner, Stream: c.Stream, Tick: c.Tick, Overlaps: c.Overlaps}
	s, a := protocol.Finish(v.state(), protocol.Node{Now: now.UnixMilli()}, t, protocol.End{})
	if a.Code != protocol.OK && a.Code != protocol.RanOut {
		return nil, false, finishtx.Excluded{Seen: v.claims.Fence}
	}
	e := records.Entry{
		Kind: endKinds[a.Code], Stream: c.Stream, Tick: c.Tick, Token: c.Token, Attempt: c.Attempt, Owner: c.Owner, Holder: c.Note, Note: end.Note,
	}
	return []kv.Write{records.Put(all.Key, v.afterEnd(s, c.Owner, a.Code, false)), records.Put(records.EntryKey(end.Job, e), e)}, a.Code == protocol.OK, nil
}
