package acts

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/acts"
)

// sweepMost bounds the old records of a name that a sweep deletes: a transaction holds them.
func (s *Store) sweepMost() int { return s.store.Limits().Keys / 8 }

// maySweep sweeps so often that more is deleted than added. What a sweep leaves, or fails to
// delete, the next one finds.
func (s *Store) maySweep(ctx context.Context) {
	if rand.N(min(64, s.sweepMost()/2)) == 0 {
		_ = s.sweep(ctx)
	}
}

// sweep deletes acts that are older than a day and not among the latest in their log, and
// unused keys of older ones. Refused acts need not be old.
func (s *Store) sweep(ctx context.Context) error {
	_, stamp, err := s.store.Read(ctx, key("act", ""))
	if err != nil {
		return err
	}
	old := stamp.At().Add(-keep)
	audit, refused := kv.Between(kv.Acts, "audit", records.EntryOrder(old.UnixMilli()), ""), kv.Of(kv.Acts, "refused")
	audit.Limit, refused.Limit = s.keep+s.sweepMost(), s.refused+s.sweepMost()
	lists, stamp, err := s.store.List(ctx, audit, refused,
		kv.Of(kv.Acts, "open"), kv.Of(kv.Acts, "line"), kv.Of(kv.Acts, "pause"))
	if err != nil {
		return err
	}
	t := kv.Txn{Life: stamp.Life}
	isOpen := map[string]bool{} // by ID, as in keys
	for _, r := range lists[2] {
		isOpen[r.Key.Sub] = true
	}
	for _, r := range slices.Concat(lists[0][min(s.keep, len(lists[0])):], lists[1][min(s.refused, len(lists[1])):]) {
		t.Delete = append(t.Delete, r.Key)
		if id := idOf(r.Key); !isOpen[id.Sub] {
			t.Delete = append(t.Delete, id)
		}
	}
	for _, list := range lists[2:] {
		list = slices.DeleteFunc(list, func(r kv.Record) bool {
			act, err := acts.Decode(r.Value)
			inUse := act.Kind == acts.Pause || act.Last().After(old) || r.Key.Name == "open" && act.Expires().After(old)
			return err != nil || inUse
		})
		for _, r := range list[:min(len(list), s.sweepMost()/2)] {
			t.If = append(t.If, kv.Compare{Key: r.Key, Version: r.Version}) // it may be in use again
			t.Delete = append(t.Delete, r.Key)
			if r.Key.Name == "open" {
				t.Delete = append(t.Delete, kv.Key{Kind: kv.Acts, Name: "act", Sub: r.Key.Sub})
			}
		}
	}
	_, err = s.store.Commit(ctx, t)
	return err
}
