package claims

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// maxTries bounds the transactions of a TryAcquire.
const maxTries = 6

// streamPlain is the stream of plain locks.
const streamPlain = "lock"

// A try is one owner. It wins a claim, keeps it and ends it, or is voided.
type try struct {
	protocol.Try
	l     *Locker
	req   locking.Request
	lease kv.Key
	begun time.Time // before the first request of the transaction that won, or may have won
	// unsure: a transaction may have won, or may still win, in the life.
	unsure   bool
	life     string
	tokens   []uint64 // of all transactions
	compared uint64   // the version of the claims in the last of them
}

func newTry(l *Locker, req locking.Request, owner string) *try {
	t := &try{l: l, req: req, Try: protocol.Try{
		Owner: owner, Stream: req.InStream(), Plain: req.Tick.IsZero(), Overlaps: req.Beside, TTL: req.TTL.Milliseconds(),
	}}
	if t.Plain {
		t.Stream = streamPlain
	} else {
		t.Tick = req.Tick.UnixMilli()
	}
	if req.Mode == locking.AtLeastOnce {
		t.Mode = protocol.AtLeastOnce
	}
	t.lease = records.LeaseKey(req.Name, records.Claim{Stream: t.Stream, Tick: t.Tick, Overlaps: t.Overlaps})
	return t
}

// TryAcquire implements locking.Locker. When ctx ends, it finishes the request in flight and
// begins no other. For a request that no store could grant, such as one without a name or
// with an unsuitable TTL, the error is not an *AcquireError.
func (l *Locker) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	req.TTL = cmp.Or(req.TTL, l.cfg.TTL)
	if err := l.cfg.check(req); err != nil {
		return nil, err
	}
	t := newTry(l, req, l.cfg.Random(req))
	lease, err := t.win(ctx)
	if err != nil {
		if t.unsure {
			l.cleaner.Repeat(t.voidAgain)
		}
		return nil, retry.Ended(ctx, err)
	}
	return lease, nil
}

// win makes transactions until one wins, or a rule refuses the claim.
func (t *try) win(ctx context.Context) (*lease, error) {
	var last error
	for tries := range maxTries {
		if tries > 0 && last != nil {
			retry.After(ctx, t.l.cfg.Timeout/4)
		}
		if ctx.Err() != nil {
			return nil, t.unanswered(last)
		}
		if !t.unsure {
			t.begun = time.Now()
		}
		v, err := t.readToClaim(ctx)
		if err != nil {
			if last == nil || !errors.Is(err, kv.ErrUnavailable) {
				return nil, t.unanswered(err)
			}
			continue
		}
		if c := v.claims.Of(t.Owner); t.unsure && c.Open() {
			return t.found(v, c)
		}
		txn, c, refused := t.decide(v)
		if refused != nil {
			return nil, t.refused(ctx, v, refused)
		}
		t.compared = v.versions[records.ClaimsKey(t.req.Name)]
		o, sent, err := t.l.commit(ctx, v, txn)
		switch {
		case err != nil && !errors.Is(err, kv.ErrUnavailable):
			return nil, t.unanswered(err)
		case errors.Is(err, kv.ErrLocked):
			return nil, t.locked(ctx, err)
		case kv.Unknown(err):
			t.unsure, t.life, last = true, cmp.Or(t.life, v.stamp.Life), err
		case err != nil:
			last = err
		case o.Won:
			l, err := t.granted(c, held{life: v.stamp.Life, version: o.Version, lease: t.leaseOf(v, c), at: sent, clock: o.Stamp.Now})
			if err == nil {
				l.left = v.left(txn, o)
			}
			return l, err
		}
	}
	if last != nil {
		return nil, t.unanswered(last)
	}
	return nil, &locking.AcquireError{Reason: locking.ErrSplit, Name: t.req.Name}
}

// read reads what decides on the claim: a tick that may run beside others needs the job's
// lease and its own, all others need all leases. More may be an entry.
func (t *try) read(ctx context.Context, more ...kv.Key) (v view, err error) {
	if t.Overlaps {
		v, err = t.l.read(ctx, t.req.Name, append(more, records.LeaseKey(t.req.Name, records.Claim{}), t.lease)...)
	} else {
		v, err = t.l.readAll(ctx, t.req.Name, more...)
	}
	if v.leases[t.lease].Owner == t.Owner {
		delete(v.ends, t.lease) // it knows when it wrote it
	}
	return v, err
}

// decide applies LOCK and COMMIT, and returns the transaction that makes the claim.
func (t *try) decide(v view) (kv.Txn, records.Claim, *refusal) {
	n := t.l.node(v)
	s, seen := protocol.Lock(v.state(), n, t.Try)
	if seen.Code != protocol.OK {
		return kv.Txn{}, records.Claim{}, &refusal{Answer: seen}
	}
	bid := protocol.Bid{Token: max(tokenAt(v.stamp.Now), seen.Fence+1), Attempt: seen.Attempt + 1, Note: t.req.Holder}
	s, got := protocol.Commit(s, v.goingOn(n), t.Try, bid)
	if got.Code != protocol.OK {
		return kv.Txn{}, records.Claim{}, &refusal{Answer: got, fence: seen.Fence}
	}
	t.tokens = append(t.tokens, bid.Token)
	c := asRecord(t.Stream, s.Streams[t.Stream])
	return t.claim(v, v.after(s), c), c, nil
}

// claim is the transaction that makes the claim c, of those after it. It drops the leases that
// have expired or ended, so their late extensions lose.
func (t *try) claim(v view, after records.Claims, c records.Claim) kv.Txn {
	var txn kv.Txn
	var dropped []kv.Key
	after.Earlier, dropped = v.prune(after.Earlier, t.l.maxPruned())
	for _, k := range dropped {
		if _, read := v.versions[k]; !read {
			txn.Delete = append(txn.Delete, k)
		}
	}
	for k := range v.leases {
		if k != t.lease && !v.lasts(k) {
			v.drop(&txn, k)
		}
	}
	v.compare(&txn, records.ClaimsKey(t.req.Name))
	v.compareLeases(&txn)
	if v.claims.Fence == 0 {
		v.compare(&txn, records.ForgottenKey())
	}
	txn.Put = append(txn.Put, records.Put(records.ClaimsKey(t.req.Name), after), records.Put(t.lease, t.leaseOf(v, c)))
	if !t.Plain {
		txn.Put = append(txn.Put, t.entry(c, records.Started, t.req.Note))
	}
	return txn
}

// leaseOf is the lease of the claim c from the moment of the view on.
func (t *try) leaseOf(v view, c records.Claim) records.Lease {
	return records.Lease{Owner: t.Owner, Token: c.Token, Until: v.stamp.Now.UnixMilli() + t.TTL, TTL: t.TTL, Evicted: v.evicted(t.lease)}
}

// entry is the write of the run's entry.
func (t *try) entry(c records.Claim, k records.Kind, note []byte) kv.Write {
	e := records.Entry{
		Kind: k, Stream: t.Stream, Tick: t.Tick, Token: c.Token, Attempt: c.Attempt, Owner: t.Owner, Holder: t.req.Holder, Note: records.Note(note),
	}
	return records.Put(records.EntryKey(t.req.Name, e), e)
}

// tokenAt is the token of an instant: 2^20 per second, so claims within one millisecond
// differ.
func tokenAt(at time.Time) uint64 {
	return uint64(at.Unix())<<20 + uint64(at.Nanosecond())<<20/uint64(time.Second)
}

// timeOf is the inverse of tokenAt, in whole milliseconds.
func timeOf(token uint64) time.Time { return time.UnixMilli(int64(token * 1000 >> 20)) }

// found takes the claim c that a transaction with an unknown outcome has made. In another
// life it does not count: others may know nothing of it.
func (t *try) found(v view, c records.Claim) (*lease, error) {
	if v.stamp.Life != t.life {
		return nil, t.unanswered(errOtherLife)
	}
	h := held{life: t.life, lease: v.leases[t.lease], at: t.begun, clock: v.stamp.Now}
	if h.lease.Owner == t.Owner {
		h.version = v.versions[t.lease]
	}
	return t.granted(c, h)
}

// granted returns the lease of the claim, unless it is too late.
func (t *try) granted(c records.Claim, h held) (*lease, error) {
	l := newLease(t, c, h)
	if l.isOver() {
		t.unsure = true
		return nil, &locking.AcquireError{Reason: locking.ErrTooSlow, Name: t.req.Name}
	}
	return l, nil
}
