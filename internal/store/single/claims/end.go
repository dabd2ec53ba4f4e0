package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// Release implements locking.Lease: rule N5. It repeats the request, also after a refusal or a
// transaction that lost, until the store acknowledges it, the deadline passes or ctx ends. It does
// not repeat a request whose note is too large. Once the store has decided, later calls return an
// error that matches the same sentinel. If the deadline passes before that, the error matches
// ErrLeaseLost, and ErrNoQuorum or ErrRefused.
func (l *lease) Release(ctx context.Context, note []byte) error {
	err := l.finish(ctx, note, false)
	// Trim the entries of the job after about one run in a hundred. A counter could always miss the
	// same job; a random number does not.
	if trim := l.t.locker.cfg.Trim; trim != nil && !l.claim.Tick.IsZero() && rand.N(100) == 0 {
		_ = trim(ctx, l.claim.Name) // or after a later run
	}
	return err
}

// HandOver implements locking.Lease: rule N5 with handover, repeated as by Release.
func (l *lease) HandOver(ctx context.Context, note []byte) error { return l.finish(ctx, note, true) }

func (l *lease) finish(ctx context.Context, note []byte, handover bool) error {
	if err := l.takeTurn(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer l.passTurn()
	if l.ended {
		return l.result
	}
	for wait := time.Duration(0); ; wait = l.t.locker.cfg.nextPause(wait) {
		code, err := l.finishOnce(ctx, note, handover)
		switch {
		case errors.Is(err, kv.ErrTooLarge):
			return l.failed("releasing", err)
		case code == protocol.OK && !l.isOver():
			l.ended = true
			return nil
		case code == protocol.OK, code == protocol.RanOut:
			return l.endedWith(locking.ErrExpired)
		case code == protocol.Late:
			return l.endedWith(locking.ErrLeaseLost)
		case err != nil && l.isOver():
			return l.failed("releasing", fmt.Errorf("%w, and %w", locking.ErrLeaseLost, err))
		case !retry.Sleep(ctx, retry.CapBefore(l.Deadline(), wait)):
			return retry.Ended(ctx, l.failed("releasing", cmp.Or(err, kv.ErrUnavailable)))
		}
	}
}

// endedWith marks the lease as ended. It returns the result with the name and the token; later calls
// of Release return it bare.
func (l *lease) endedWith(result error) error {
	l.ended, l.result = true, result
	return l.failed("releasing", result)
}

// finishOnce applies FINISH to what is known or read, and commits the result. It returns the
// answer, or none if the transaction lost.
func (l *lease) finishOnce(ctx context.Context, note []byte, handover bool) (protocol.Code, error) {
	t := l.t
	v, compared, err := l.viewToFinish(ctx)
	if err != nil {
		return "", kv.Failed("reading it", err)
	}
	if code := v.endOf(t.ruleTry.Owner); code != "" {
		return code, nil // an earlier request or the function's transaction has ended it: keep its entry
	}
	n := t.locker.node(v)
	// Add the claim again if the store has lost it. If another claim excludes it, FINISH says Late.
	s, _ := l.join(v, n)
	s, a := protocol.Finish(s, n, t.ruleTry, protocol.End{Handover: handover})
	if v.versions[records.ClaimsKey(t.req.Name)] == 0 && a.Code == protocol.Late {
		return a.Code, nil // the name was forgotten: leave nothing of it
	}
	after := records.Put(records.ClaimsKey(t.req.Name), v.afterEnd(s, t.ruleTry.Owner, a.Code, handover))
	txn := kv.Txn{Put: []kv.Write{after}, Urgency: kv.EndsRun}
	v.compare(&txn, append(compared, records.ClaimsKey(t.req.Name))...)
	if v.claims.Of(t.ruleTry.Owner).Owner == "" {
		v.compareLeases(&txn) // the claim is added again: none of the leases that were read excludes it
	}
	if !t.ruleTry.Plain {
		txn.Put = append(txn.Put, t.entry(l.bid, endKinds[a.Code], note))
	}
	o, _, err := t.locker.commit(ctx, v, txn)
	if err != nil || !o.Won {
		return "", kv.Failed("writing it", err)
	}
	return a.Code, nil
}

// viewToFinish returns the view for FINISH, and the keys that its transaction compares besides the
// claims. The first call reads nothing if the lease certainly lasts: it returns what the store had
// after the claim. The transaction then also compares the incarnation and the lease, which an
// operator may have taken. If something has changed, it loses, and the next call reads.
func (l *lease) viewToFinish(ctx context.Context) (view, []kv.Key, error) {
	if l.afterClaim != nil {
		v := *l.afterClaim
		l.afterClaim = nil
		v.stamp.Now = l.held.latest(time.Now())
		v.versions[l.t.lease], v.leases[l.t.lease] = l.held.version, l.held.lease
		if l.held.version > 0 && v.lasts(l.t.lease) {
			return v, []kv.Key{l.t.lease}, nil
		}
	}
	v, err := l.t.read(ctx, l.t.entryKeys()...)
	return v, nil, err
}

// viewAfterClaim is the view of a name after the transaction of a claim that won, with the lease of
// this claim alone. It is nil if the transaction has noted a new incarnation, whose version is unknown.
func (v view) viewAfterClaim(t kv.Txn, o kv.Outcome) *view {
	if v.newIncarnation {
		return nil
	}
	v.versions, v.leases, v.ends = maps.Clone(v.versions), map[kv.Key]records.Lease{}, nil
	for _, w := range t.Put {
		if v.add(kv.Record{Key: w.Key, Version: o.Version, Value: w.Value}) != nil {
			return nil
		}
	}
	return &v
}

// Void implements locking.Lease: rule N6. An error means that the store has not answered; it
// is tried again in the background.
func (l *lease) Void(ctx context.Context) error {
	if err := l.takeTurn(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer l.passTurn()
	if l.ended {
		return nil
	}
	l.ended, l.result = true, locking.ErrLeaseLost
	if err := l.t.void(ctx); err != nil {
		l.t.locker.cleaner.Repeat(l.t.voidAgain)
		return l.failed("voiding", err)
	}
	return nil
}

// maxVoids bounds the voids that are made in the background at a time. While commits get no answer,
// each holds a connection that an extension may need.
const maxVoids = 2

// voidAgain is void in the background. It reports whether to repeat it.
func (t *try) voidAgain(ctx context.Context) bool {
	select {
	case t.locker.voids <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-t.locker.voids }()
	err := t.void(ctx)
	return err != nil && !errors.Is(err, kv.ErrTooLarge)
}

// void ends a try that will never run: rule N6.
func (t *try) void(ctx context.Context) error {
	for wait := time.Duration(0); ; wait = t.locker.cfg.nextPause(wait) {
		v, err := t.locker.read(ctx, t.req.Name, t.entryKeys()...)
		if err != nil {
			return kv.Failed("voiding", err)
		}
		txn, needed := t.voidTxn(v)
		if !needed {
			return nil
		}
		o, _, err := t.locker.commit(ctx, v, txn)
		if err != nil || o.Won {
			return kv.Failed("voiding", err)
		}
		if !retry.Sleep(ctx, wait) {
			return retry.Ended(ctx, kv.Failed("voiding", kv.ErrUnavailable))
		}
	}
}

// voidTxn returns the transaction that voids the claim. The one that makes the claim may still be in
// flight. If the claim is missing, voidTxn rewrites a record that both compare, so the claim's
// transaction loses. If that record has changed since, it has lost, and nothing is needed.
func (t *try) voidTxn(v view) (txn kv.Txn, needed bool) {
	k := records.ClaimsKey(t.req.Name)
	mine := v.claims.Of(t.ruleTry.Owner)
	for _, entry := range t.entryKeys() {
		if v.entries[entry].Owner == t.ruleTry.Owner && mine.Ended == "" { // two tries may have had one token
			txn.Delete = append(txn.Delete, entry)
		}
	}
	if mine.Owner == "" && v.versions[k] != t.compared && len(txn.Delete) == 0 {
		return txn, false
	}
	v.compare(&txn, k)
	if v.versions[k] == 0 {
		v.compare(&txn, records.ForgottenKey())
		txn.Put = []kv.Write{records.Put(records.ForgottenKey(), v.forgotten)}
		return txn, true
	}
	s, _ := protocol.Void(v.state(), t.locker.node(v), t.ruleTry, false)
	after := v.after(s)
	for i, e := range after.Earlier {
		after.Earlier[i].Void = e.Void || e.Owner == t.ruleTry.Owner && e.Ended == ""
	}
	txn.Put = []kv.Write{records.Put(k, after)}
	return txn, true
}

// Settle finds out whether the function has ended its run in a transaction, whose COMMIT may have had
// no answer. It waits until no such transaction is in flight, and returns whether the run has ended,
// with the note that was stored. It tries until ctx ends: then the error matches
// locking.ErrNoQuorum, or locking.ErrRefused.
func (l *lease) Settle(ctx context.Context) (note []byte, ended bool, err error) {
	for wait := time.Duration(0); ; wait = l.t.locker.cfg.nextPause(wait) {
		v, known, err := l.settleOnce(ctx)
		switch {
		case known:
			return v.entryOf(l.t.ruleTry.Owner).Note, v.endOf(l.t.ruleTry.Owner) != "", nil
		case !retry.Sleep(ctx, wait):
			return nil, false, retry.Ended(ctx, l.failed("asking how it ended", cmp.Or(err, kv.ErrUnavailable)))
		}
	}
}

// settleOnce reads the claim and the entry. If the claim is open, it commits a transaction that only
// compares the claim. The store lets this one wait while a transaction of the function is in flight.
// It wins if the function's transaction has changed nothing.
func (l *lease) settleOnce(ctx context.Context) (v view, known bool, err error) {
	t := l.t
	if v, err = t.locker.read(ctx, t.req.Name, t.entryKeys()...); err != nil {
		return v, false, kv.Failed("reading it", err)
	}
	if v.endOf(t.ruleTry.Owner) != "" || !v.claims.Of(t.ruleTry.Owner).Open() {
		return v, true, nil // nothing ends a claim that is not there
	}
	txn := kv.Txn{Urgency: kv.EndsRun}
	v.compare(&txn, records.ClaimsKey(t.req.Name))
	o, _, err := t.locker.commit(ctx, v, txn)
	return v, err == nil && o.Won, kv.Failed("comparing it", err)
}

// Database returns what a transaction of the function needs to end the run: the schema of the store's
// functions, "" if the store has none, and the owner of the claim.
func (l *lease) Database() (schema, owner string) { return l.t.locker.cfg.Schema, l.t.ruleTry.Owner }

// Look reports whether the store has the claim, open or ended. If not, newer is the token of the
// claim that has excluded it; 0 if there is none.
func (l *lease) Look(ctx context.Context) (has bool, newer uint64, err error) {
	v, err := l.t.locker.read(ctx, l.t.req.Name)
	switch {
	case err != nil:
		return false, 0, l.failed("looking for it", kv.Failed("reading it", err))
	case v.claims.Of(l.t.ruleTry.Owner).Owner != "":
		return true, 0, nil
	case v.claims.Fence > l.bid.Token:
		newer = v.claims.Fence
	}
	return false, newer, nil
}
