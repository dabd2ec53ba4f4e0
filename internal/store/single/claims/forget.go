package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

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
	// Runs of a later claim of the name are not among these.
	past, err := l.past(ctx, name)
	if err != nil {
		return kv.Failed("forgetting "+name, err)
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

// past lists the keys of a name's entries and logs.
func (l *Locker) past(ctx context.Context, name string) ([]kv.Key, error) {
	var keys []kv.Key
	for _, r := range []kv.Range{kv.Of(kv.Entries, name), kv.Of(kv.Logs, name)} {
		r.Limit = page
		for {
			some, err := l.list(ctx, r)
			if err != nil {
				return nil, err
			}
			for _, record := range some {
				keys = append(keys, record.Key)
			}
			if len(some) < page {
				break
			}
			r.From.Sub = some[page-1].Key.Sub + "\x01" // the next key, as none has a zero byte
		}
	}
	return keys, nil
}

func (l *Locker) list(ctx context.Context, r kv.Range) ([]kv.Record, error) {
	ctx, cancel := l.request(ctx)
	defer cancel()
	lists, _, err := l.store.List(ctx, r)
	if err != nil {
		return nil, err
	}
	return lists[0], nil
}

// forgetClaims applies FORGET, rule N8, until a transaction wins.
func (l *Locker) forgetClaims(ctx context.Context, name string) (protocol.Code, error) {
	for ctx.Err() == nil {
		v, err := l.readPruned(ctx, name)
		if err != nil {
			return "", kv.Failed("forgetting "+name, err)
		}
		for k, end := range v.ends { // an operator need not observe: clocks will do
			v.ends[k] = min(end, v.leases[k].Until+l.cfg.Grace.Milliseconds()/2)
		}
		_, n, a := protocol.Forget(v.state(), l.node(v))
		switch {
		case a.Code == protocol.Busy:
			return "", fmt.Errorf("%s: %w", name, locking.ErrTaken)
		case v.versions[records.ClaimsKey(name)] == 0:
			return protocol.None, nil
		}
		leases, err := l.list(ctx, kv.Of(kv.Leases, name))
		if err != nil {
			return "", kv.Failed("forgetting "+name, err)
		}
		txn := kv.Txn{
			Put:    []kv.Write{records.Put(records.ForgottenKey(), records.Forgotten{Fence: n.GCFence, Tick: n.GCTick})},
			Delete: []kv.Key{records.ClaimsKey(name)},
		}
		for _, r := range leases { // those of a later claim come with other claims
			if _, read := v.versions[r.Key]; !read { // it may have tombstones
				err = errors.Join(err, v.add(r))
			}
			v.drop(&txn, r.Key)
		}
		if err != nil {
			return "", kv.Failed("forgetting "+name, err)
		}
		v.compare(&txn, records.ClaimsKey(name), records.ForgottenKey())
		v.compareLeases(&txn)
		o, _, err := l.commit(ctx, v, txn)
		switch {
		case err != nil:
			return "", kv.Failed("forgetting "+name, err)
		case o.Won:
			return a.Code, nil
		}
	}
	return "", retry.Ended(ctx, kv.ErrUnavailable)
}

// remove deletes records of a name, in one transaction.
func (l *Locker) remove(ctx context.Context, name string, keys []kv.Key) error {
	for wait := time.Duration(0); ; wait = l.cfg.longer(wait) {
		v, err := l.read(ctx, name)
		if err != nil {
			return err
		}
		if o, _, err := l.commit(ctx, v, kv.Txn{Delete: keys}); err != nil || o.Won {
			return err
		}
		if !retry.After(ctx, wait) {
			return retry.Ended(ctx, kv.ErrUnavailable)
		}
	}
}
