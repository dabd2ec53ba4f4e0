package claims

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// A lease is a claim that the store has accepted.
type lease struct {
	t     *try
	bid   protocol.Bid // that the store has accepted
	claim locking.Claim
	// deadline may be read during an extension.
	deadline atomic.Pointer[time.Time]
	// over is set once an operation has found the deadline passed. It stays set even if
	// the wall clock is set back.
	over bool
	// turn holds one token, whose owner may use the other fields.
	turn chan struct{}
	held knownLease
	// afterClaim is what the store had of the name when the claim was made; nil: unknown.
	afterClaim *view
	// ended: the lease was given back. Result is what later calls of Release return.
	ended  bool
	result error
}

// A knownLease is the record of a lease as its holder knows it.
type knownLease struct {
	incarnation string
	version     uint64 // 0: unknown
	lease       records.Lease
	// clock is a reading of the store's clock, and at a local time before it.
	at    time.Time
	clock time.Time
}

// latest is the latest that the store's clock may show at a local time. While a machine is
// suspended, only its wall clock goes on.
func (h knownLease) latest(now time.Time) time.Time {
	return h.clock.Add(max(now.Sub(h.at), now.Round(0).Sub(h.at.Round(0))))
}

// errOver: the deadline passed, so others may have worked even if the store knows of none.
var errOver = fmt.Errorf("%w: its deadline has passed", locking.ErrLeaseLost)

// granted returns the lease of a claim that was accepted, unless it is too late.
func (t *try) granted(bid protocol.Bid, h knownLease) (*lease, error) {
	l := &lease{t: t, bid: bid, held: h, turn: make(chan struct{}, 1), claim: locking.Claim{
		Name: t.req.Name, Tick: t.req.Tick, Stream: t.req.Stream, Beside: t.req.Beside,
		Token: locking.Token(bid.Token), Attempt: bid.Attempt, Granted: time.Now(),
	}}
	l.setDeadline(t.begun.Add(t.locker.cfg.validity(t.req.TTL)))
	l.turn <- struct{}{}
	if l.isOver() {
		t.unsure = true
		return nil, &locking.AcquireError{Reason: locking.ErrTooSlow, Name: t.req.Name}
	}
	return l, nil
}

// Claim implements locking.Lease.
func (l *lease) Claim() locking.Claim { return l.claim }

// Deadline implements locking.Lease.
func (l *lease) Deadline() time.Time { return *l.deadline.Load() }

func (l *lease) setDeadline(deadline time.Time) { l.deadline.Store(&deadline) }

// isOver reports whether the deadline has passed, for good.
func (l *lease) isOver() bool {
	l.over = l.over || locking.Expired(time.Now(), l.Deadline())
	return l.over
}

// Extend implements locking.Lease: rule N4. The first transaction only writes the lease, as
// this holder left it. If that is not the present one, the next reads why. It does not stop
// half-way when ctx ends. An answer after the deadline does not count.
func (l *lease) Extend(ctx context.Context) error {
	if err := l.takeTurn(ctx); err != nil {
		return err
	}
	defer l.passTurn()
	switch {
	case l.ended:
		return locking.ErrLeaseLost
	case l.isOver():
		return l.failed("extending", errOver)
	}
	extended, err := l.extendKnown(ctx)
	for tries := 1; !extended && tries < maxTries && ctx.Err() == nil && !l.isOver(); tries++ {
		extended, err = l.extendRead(ctx)
		if err != nil {
			break
		}
	}
	switch {
	case errors.Is(err, locking.ErrLeaseLost):
		return l.failed("extending", err)
	case l.isOver():
		return l.failed("extending", errOver)
	case extended:
		return nil
	case err == nil:
		err = kv.ErrUnavailable
	}
	return retry.Ended(ctx, l.failed("extending", err))
}

// extendKnown extends a lease that is as this holder left it. It reports false if it may be
// another.
func (l *lease) extendKnown(ctx context.Context) (bool, error) {
	if l.held.version == 0 {
		return false, nil
	}
	now := time.Now()
	next := l.held.lease
	next.Until = max(next.Until, l.held.latest(now).UnixMilli()+l.t.ruleTry.TTL)
	txn := kv.Txn{
		Incarnation: l.held.incarnation, If: []kv.Compare{{Key: l.t.lease, Version: l.held.version}},
		Put: []kv.Write{records.Put(l.t.lease, next)}, Urgency: kv.Extends,
	}
	l.held.version = 0
	ctx, cancel := l.t.locker.request(ctx)
	defer cancel()
	o, err := l.t.locker.store.Commit(ctx, txn)
	if err != nil || !o.Won {
		return false, kv.Failed("writing it", err)
	}
	if o.Stamp.Now.IsZero() {
		o.Stamp.Now = now
	}
	l.extended(now, knownLease{incarnation: txn.Incarnation, version: o.Version, lease: next, at: now, clock: o.Stamp.Now})
	return true, nil
}

// extended moves the deadline: others wait until the lease ends by the store's clock.
func (l *lease) extended(begun time.Time, h knownLease) {
	l.held = h
	ttl := min(l.t.req.TTL, time.UnixMilli(h.lease.Until+1).Sub(h.clock))
	if deadline := begun.Add(l.t.locker.cfg.validity(ttl)); !l.isOver() && deadline.After(l.Deadline()) {
		l.setDeadline(deadline)
	}
}

// extendRead reads the lease, applies EXTEND, and commits the result. It reports false if
// the transaction lost. A claim that another incarnation of the store has forgotten is added again.
func (l *lease) extendRead(ctx context.Context) (bool, error) {
	t, now := l.t, time.Now()
	v, err := t.read(ctx)
	if err != nil {
		return false, kv.Failed("reading it", err)
	}
	n := t.locker.node(v)
	s, a := l.join(v, n)
	if a.Code == protocol.OK {
		s, a = protocol.Extend(s, n, t.ruleTry)
	}
	if a.Code != protocol.OK {
		return false, lost(a)
	}
	next := t.leaseOf(v, l.bid.Token)
	txn := kv.Txn{Put: []kv.Write{records.Put(t.lease, next)}}
	switch {
	case v.claims.Of(t.ruleTry.Owner).Owner == "":
		txn = t.claimTxn(v, v.after(s), l.bid)
	case v.leases[t.lease].Owner == t.ruleTry.Owner:
		v.compare(&txn, t.lease)
	default:
		v.compare(&txn, records.ClaimsKey(t.req.Name))
		v.compareLeases(&txn)
	}
	txn.Urgency = kv.Extends
	o, sent, err := t.locker.commit(ctx, v, txn)
	if err != nil || !o.Won {
		return false, kv.Failed("writing it", err)
	}
	l.extended(now, knownLease{incarnation: v.stamp.Incarnation, version: o.Version, lease: next, at: sent, clock: o.Stamp.Now})
	return true, nil
}

// join returns the state of a view, with this claim. If it is missing, COMMIT with join adds it
// (rule C3), unless another claim excludes it.
func (l *lease) join(v view, n protocol.Node) (protocol.State, protocol.Answer) {
	if v.claims.Of(l.t.ruleTry.Owner).Owner != "" {
		return v.state(), protocol.Answer{Code: protocol.OK}
	}
	again := l.bid
	again.Join = true
	return protocol.Commit(v.state(), n, l.t.ruleTry, again)
}

// lost is ErrLeaseLost, with an operator's reason if there is one.
func lost(a protocol.Answer) error {
	switch {
	case a.Reason != "":
		return &locking.EvictedError{Reason: a.Reason}
	case a.Claim.Token != 0:
		return fmt.Errorf("%w to %s with token %d", locking.ErrLeaseLost, a.Claim.Note, a.Claim.Token)
	}
	return locking.ErrLeaseLost
}

// takeTurn waits for the operation in flight to end.
func (l *lease) takeTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-l.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lease) passTurn() { l.turn <- struct{}{} }

func (l *lease) failed(doing string, err error) error {
	return fmt.Errorf("%s %s with token %d: %w", doing, l.claim.Name, l.claim.Token, err)
}
