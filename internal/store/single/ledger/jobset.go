package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler"
)

// keepSets is how long a set of jobs is kept after the last renewal by a replica that serves
// it.
const keepSets = 24 * time.Hour

// A renewal is the stored form of the last renewal of a set. The set is a record of its own,
// which may be large.
type renewal struct {
	At int64 `json:"at"` // by the store's clock
}

func (r renewal) expired(now time.Time) bool {
	return r.At == 0 || !now.Before(time.UnixMilli(r.At).Add(keepSets))
}

// setKeys are the keys of the renewal and of the set.
func setKeys(hash string) []kv.Key {
	return []kv.Key{{Kind: kv.Sets, Name: "renewed", Sub: hash}, {Kind: kv.Sets, Name: "packed", Sub: hash}}
}

// RenewSet implements [scheduler.JobSets].
func (r *Roster) RenewSet(ctx context.Context, hash string) (kept bool, err error) {
	err = r.update(ctx, "renewing a set of jobs", setKeys(hash)[:1], func(list []kv.Record, s kv.Stamp) (t kv.Txn, err error) {
		last, ok := decoded[renewal](r.access, list[0])
		if kept = ok && !last.expired(s.At()); !kept {
			return t, nil // it is kept again
		}
		now := renewal{s.At().UnixMilli()}
		return kv.Txn{If: unchanged(list[0]), Put: []kv.Write{records.Put(list[0].Key, now)}}, nil
	})
	return kept && err == nil, err
}

// KeepSet implements [scheduler.JobSets]. It also deletes expired sets.
func (r *Roster) KeepSet(ctx context.Context, hash string, packed []byte) error {
	const doing = "keeping a set of jobs"
	keys := setKeys(hash)
	err := r.update(ctx, doing, keys[:1], func(_ []kv.Record, s kv.Stamp) (kv.Txn, error) {
		now := renewal{s.At().UnixMilli()}
		return kv.Txn{Put: []kv.Write{records.Put(keys[0], now), records.Put(keys[1], packed)}}, nil
	})
	if err != nil {
		return err
	}
	return r.each(ctx, doing, kv.Of(kv.Sets, keys[0].Name), func(list []kv.Record, s kv.Stamp) error {
		for _, old := range list {
			if last, err := records.Decode[renewal](old); err != nil || !last.expired(s.At()) {
				continue
			}
			// Another replica may have renewed it.
			if _, err := r.commit(ctx, doing, kv.Txn{Life: s.Life, If: unchanged(old), Delete: setKeys(old.Key.Sub)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// JobSet implements [scheduler.JobSets].
func (r *Roster) JobSet(ctx context.Context, hash string) ([]byte, error) {
	const doing = "reading a set of jobs"
	list, s, err := r.read(ctx, doing, setKeys(hash)...)
	if err != nil {
		return nil, err
	}
	last, err := records.Decode[renewal](list[0])
	if err == nil && last.expired(s.At()) {
		return nil, scheduler.ErrNoJobSet
	}
	var packed []byte
	if err == nil {
		packed, err = records.Decode[[]byte](list[1])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return packed, nil
}
