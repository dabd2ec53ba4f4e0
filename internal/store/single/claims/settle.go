package claims

import (
	"cmp"
	"context"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// Settle finds out whether a transaction of its own has ended the run, whose COMMIT may have had
// no answer. It waits until no such transaction is under way. It returns whether the run has
// ended, with the note that was stored. It tries until ctx ends: then the error matches
// locking.ErrNoQuorum, or locking.ErrRefused.
func (l *lease) Settle(ctx context.Context) (note []byte, ended bool, err error) {
	for wait := time.Duration(0); ; wait = l.t.l.cfg.longer(wait) {
		v, known, err := l.settleOnce(ctx)
		switch {
		case known:
			return v.entryOf(l.t.Owner).Note, v.endOf(l.t.Owner) != "", nil
		case !retry.After(ctx, wait):
			return nil, false, retry.Ended(ctx, l.failed("asking how it ended", cmp.Or(err, kv.ErrUnavailable)))
		}
	}
}

// settleOnce reads the claim and the entry. If the claim is open, a transaction that compares it
// waits for one that ends it. It wins if there was none, or it was rolled back.
func (l *lease) settleOnce(ctx context.Context) (v view, known bool, err error) {
	t := l.t
	if v, err = t.l.read(ctx, t.req.Name, l.entry()...); err != nil {
		return v, false, kv.Failed("reading it", err)
	}
	if v.endOf(t.Owner) != "" || !v.claims.Of(t.Owner).Open() {
		return v, true, nil // nothing ends a claim that is not there
	}
	var txn kv.Txn
	v.compare(&txn, records.ClaimsKey(t.req.Name))
	o, _, err := t.l.commit(ctx, v, txn)
	if err != nil {
		return v, false, kv.Failed("comparing it", err)
	}
	return v, o.Won, nil
}

// Database returns the schema of the store's functions, "" if it has none, and the owner of the
// claim: what such a transaction names the claim with.
func (l *lease) Database() (schema, owner string) { return l.t.l.cfg.Schema, l.t.Owner }

// Look reports whether the store has the claim, also if it has ended. If not, seen is the token of
// the claim that has excluded it; 0 if there is none.
func (l *lease) Look(ctx context.Context) (has bool, seen uint64, err error) {
	v, err := l.t.l.read(ctx, l.t.req.Name)
	switch {
	case err != nil:
		return false, 0, l.failed("looking for it", kv.Failed("reading it", err))
	case v.claims.Of(l.t.Owner).Owner != "":
		return true, 0, nil
	case v.claims.Fence > l.of.Token:
		seen = v.claims.Fence
	}
	return false, seen, nil
}
