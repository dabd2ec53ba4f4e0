package claims

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// maxVoids bounds the voids that are made in the background at a time. While commits hang,
// each holds a connection that an extension may need.
const maxVoids = 2

// voidAgain is void in the background. It reports whether to repeat it.
func (t *try) voidAgain(ctx context.Context) bool {
	select {
	case t.l.voids <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-t.l.voids }()
	err := t.void(ctx)
	return err != nil && !errors.Is(err, kv.ErrTooLarge)
}

// void ends a try that will never run: rule N6.
func (t *try) void(ctx context.Context) error {
	for wait := time.Duration(0); ; wait = t.l.cfg.longer(wait) {
		v, err := t.l.read(ctx, t.req.Name, t.entryKeys()...)
		if err != nil {
			return kv.Failed("voiding", err)
		}
		txn, needed := t.voiding(v)
		if !needed {
			return nil
		}
		o, _, err := t.l.commit(ctx, v, txn)
		if err != nil {
			return kv.Failed("voiding", err)
		}
		if o.Won {
			return nil
		}
		if !retry.After(ctx, wait) {
			return retry.Ended(ctx, kv.Failed("voiding", kv.ErrUnavailable))
		}
	}
}

// voiding is the transaction that voids the claim. If the claim is not there, a transaction
// that makes it may be under way: so this one writes a record that the other compares, unless
// that has changed.
func (t *try) voiding(v view) (txn kv.Txn, needed bool) {
	k := records.ClaimsKey(t.req.Name)
	mine := v.claims.Of(t.Owner)
	for _, entry := range t.entryKeys() {
		if v.entries[entry].Owner == t.Owner && mine.Ended == "" { // two tries may have had one token
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
	s, _ := protocol.Void(v.state(), t.l.node(v), t.Try, false)
	after := v.after(s)
	for i, e := range after.Earlier {
		after.Earlier[i].Void = e.Void || e.Owner == t.Owner && e.Ended == ""
	}
	txn.Put = []kv.Write{records.Put(k, after)}
	return txn, true
}

// entryKeys are the keys of the entries that transactions of the try may have made.
func (t *try) entryKeys() (keys []kv.Key) {
	if t.Plain {
		return nil
	}
	for _, token := range t.tokens {
		keys = append(keys, records.EntryKey(t.req.Name, records.Entry{Stream: t.Stream, Tick: t.Tick, Token: token}))
	}
	return keys
}
