package claims

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// maxTries bounds the transactions of a TryAcquire.
const maxTries = 6

// maxEarlier bounds the earlier claims of a name. With more than that, an overlapping claim
// also reads the leases of this many of them, at random, to drop those that have ended.
const maxEarlier = 16

// streamPlain is the stream of plain locks.
const streamPlain = "lock"

// A try is one owner. It wins a claim, keeps it and ends it, or is voided.
type try struct {
	locker  *Locker
	req     locking.Request
	ruleTry protocol.Try // the request, for the rules; its owner is a value that no other try has
	lease   kv.Key       // of its claim
	begun   time.Time    // before the first request of the transaction that won, or may have won
	silence error        // why the last transaction without an answer had none
	// unsure: a transaction had no answer, so it may have won in the incarnation, or may still win.
	unsure      bool
	incarnation string   // empty unless unsure
	tokens      []uint64 // of all transactions
	compared    uint64   // the version of the claims in the last of them
}

func newTry(l *Locker, req locking.Request, owner string) *try {
	t := &try{locker: l, req: req, ruleTry: protocol.Try{
		Owner: owner, Stream: req.InStream(), Plain: req.Tick.IsZero(), Overlaps: req.Beside, TTL: req.TTL.Milliseconds(),
		Mode: protocol.Mode(req.Mode == locking.AtLeastOnce),
	}}
	if t.ruleTry.Plain {
		t.ruleTry.Stream = streamPlain
	} else {
		t.ruleTry.Tick = req.Tick.UnixMilli()
	}
	t.lease = records.LeaseKey(req.Name, records.Claim{Stream: t.ruleTry.Stream, Tick: t.ruleTry.Tick, Overlaps: t.ruleTry.Overlaps})
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
		if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
			refused.MayShow = t.unsure
		}
		return nil, retry.Ended(ctx, err)
	}
	return lease, nil
}

// win tells how a tick is won on one store. It takes the steps again while a transaction loses
// to another replica's, or has no answer.
func (t *try) win(ctx context.Context) (*lease, error) {
	for range maxTries {
		if t.silence != nil {
			retry.Sleep(ctx, t.locker.cfg.Timeout/4)
		}
		if ctx.Err() != nil {
			return nil, t.unanswered(t.silence)
		}
		if l, err := t.steps(ctx); !errors.Is(err, errAgain) {
			return l, err
		}
	}
	if t.silence != nil {
		return nil, t.unanswered(t.silence)
	}
	return nil, &locking.AcquireError{Reason: locking.ErrSplit, Name: t.req.Name}
}

// errAgain says that the steps have to be taken again.
var errAgain = errors.New("not decided")

// steps takes each step once.
func (t *try) steps(ctx context.Context) (*lease, error) {
	// 1. Read the claims and leases of the name, and the incarnation, all from one moment. The
	// lease counts from before the first request that may have won.
	if !t.unsure {
		t.begun = time.Now()
	}
	v, err := t.readToClaim(ctx)
	switch {
	case errors.Is(err, kv.ErrUnavailable) && t.silence != nil:
		return nil, errAgain // the error of the transaction says more
	case err != nil:
		return nil, t.unanswered(err)
	}

	// 2. An earlier transaction without an answer may have made the claim.
	if c := v.claims.Of(t.ruleTry.Owner); t.unsure && c.Open() {
		return t.found(v, c)
	}

	// 3. The rules decide. LOCK says which token comes next, COMMIT accepts the claim.
	n := t.locker.node(v)
	s, seen := protocol.Lock(v.state(), n, t.ruleTry)
	if seen.Code != protocol.OK {
		return nil, t.refused(ctx, v, seen, 0)
	}
	bid := protocol.Bid{Token: max(protocol.TokenAt(v.stamp.Now), seen.Fence+1), Attempt: seen.Attempt + 1, Note: t.req.Holder}
	s, got := protocol.Commit(s, v.forToken(n), t.ruleTry, bid)
	if got.Code != protocol.OK {
		return nil, t.refused(ctx, v, got, seen.Fence)
	}

	// 4. One transaction writes the claim, its lease and the entry of the run. It loses if
	// anything that was read has changed.
	t.tokens, t.compared = append(t.tokens, bid.Token), v.versions[records.ClaimsKey(t.req.Name)]
	txn := t.claimTxn(v, v.after(s), bid)
	o, sent, err := t.locker.commit(ctx, v, txn)
	switch {
	case err != nil:
		return nil, t.uncommitted(ctx, v, err)
	case !o.Won: // another replica was first with one of the records
		return nil, errAgain
	}

	// 5. It is won.
	l, err := t.granted(bid, knownLease{incarnation: v.stamp.Incarnation, version: o.Version, lease: t.leaseOf(v, bid.Token), at: sent, clock: o.Stamp.Now})
	if err == nil {
		l.afterClaim = v.viewAfterClaim(txn, o)
	}
	return l, err
}

// found returns the lease of a claim that a transaction without an answer has made. In another
// incarnation it does not count: others may know nothing of it.
func (t *try) found(v view, c records.Claim) (*lease, error) {
	if v.stamp.Incarnation != t.incarnation {
		return nil, t.unanswered(errOtherIncarnation)
	}
	h := knownLease{incarnation: t.incarnation, lease: v.leases[t.lease], at: t.begun, clock: v.stamp.Now}
	if h.lease.Owner == t.ruleTry.Owner {
		h.version = v.versions[t.lease]
	}
	return t.granted(protocol.Bid{Token: c.Token, Attempt: c.Attempt, Note: c.Note}, h)
}

// uncommitted returns the error of a try whose transaction has failed; errAgain if the store did
// not answer.
func (t *try) uncommitted(ctx context.Context, v view, err error) error {
	switch {
	case !errors.Is(err, kv.ErrUnavailable): // the store refuses
		return t.unanswered(err)
	case errors.Is(err, kv.ErrLocked): // by the end of a run, which a job's transaction makes
		return t.locked(ctx, err)
	case kv.Unknown(err): // step 2 will tell
		t.unsure, t.incarnation = true, cmp.Or(t.incarnation, v.stamp.Incarnation)
	}
	t.silence = err
	return errAgain
}

// readToClaim reads what a claim decides on, and leases that it may drop. Only a claim that
// overlaps no others needs all of them.
func (t *try) readToClaim(ctx context.Context) (view, error) {
	if !t.ruleTry.Overlaps {
		return t.locker.readPruned(ctx, t.req.Name)
	}
	v, err := t.read(ctx)
	if err != nil || len(v.claims.Earlier) <= maxEarlier {
		return v, err
	}
	leases := v.unread()
	rand.Shuffle(len(leases), func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
	return t.read(ctx, leases[:min(len(leases), maxEarlier)]...)
}

// read reads what decides on the claim: a tick that may run beside others needs the job's
// lease and its own, all others need all leases. More may be an entry.
func (t *try) read(ctx context.Context, more ...kv.Key) (v view, err error) {
	if t.ruleTry.Overlaps {
		v, err = t.locker.read(ctx, t.req.Name, append(more, records.LeaseKey(t.req.Name, records.Claim{}), t.lease)...)
	} else {
		v, err = t.locker.readAll(ctx, t.req.Name, more...)
	}
	if v.leases[t.lease].Owner == t.ruleTry.Owner {
		delete(v.ends, t.lease) // it knows when it wrote it
	}
	return v, err
}

// claimTxn is the transaction that makes the claim of the bid. After are the claims with it. It
// drops the leases that have expired or ended, so their late extensions lose.
func (t *try) claimTxn(v view, after records.Claims, bid protocol.Bid) kv.Txn {
	var txn kv.Txn
	var dropped []kv.Key
	after.Earlier, dropped = v.prune(after.Earlier, t.locker.maxPruned())
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
	txn.Put = append(txn.Put, records.Put(records.ClaimsKey(t.req.Name), after), records.Put(t.lease, t.leaseOf(v, bid.Token)))
	if !t.ruleTry.Plain {
		txn.Put = append(txn.Put, t.entry(bid, records.Started, t.req.Note))
	}
	return txn
}

// leaseOf is the lease of the claim with the token, from the moment of the view on.
func (t *try) leaseOf(v view, token uint64) records.Lease {
	return records.Lease{
		Owner: t.ruleTry.Owner, Token: token, Until: v.stamp.Now.UnixMilli() + t.ruleTry.TTL, TTL: t.ruleTry.TTL, Evicted: v.evicted(t.lease),
	}
}

// entry is the write of the run's entry.
func (t *try) entry(bid protocol.Bid, k records.Kind, note []byte) kv.Write {
	e := records.Entry{
		Kind: k, Stream: t.ruleTry.Stream, Tick: t.ruleTry.Tick, Token: bid.Token, Attempt: bid.Attempt,
		Owner: t.ruleTry.Owner, Holder: t.req.Holder, Note: records.Note(note),
	}
	return records.Put(records.EntryKey(t.req.Name, e), e)
}

// entryKeys are the keys of the entries that transactions of the try may have made. The entry
// of a run also tells that a transaction without an answer has ended it.
func (t *try) entryKeys() (keys []kv.Key) {
	if t.ruleTry.Plain {
		return nil
	}
	for _, token := range t.tokens {
		keys = append(keys, records.EntryKey(t.req.Name, records.Entry{Stream: t.ruleTry.Stream, Tick: t.ruleTry.Tick, Token: token}))
	}
	return keys
}
