package claims

import (
	"context"

	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
)

// A usedError says that a store is not new. It has the name of a claim.
type usedError string

func (e usedError) Error() string {
	return "declaring the store new: it has claims, such as that of " + string(e) + "; `quorate store init --restored` is for one that was restored"
}

// Is makes it match locking.ErrRefused, whose text is about nodes.
func (usedError) Is(target error) bool { return target == locking.ErrRefused }

// DeclareNew asserts that no claim was ever granted on the store, so that claims are granted
// at once. The error matches locking.ErrRefused if the store has claims.
func DeclareNew(ctx context.Context, s store.Store) error {
	first := store.All(store.Claims)
	first.Limit = 1
	lists, _, err := s.List(ctx, first)
	if err != nil {
		return failed("declaring the store new", err)
	}
	if len(lists[0]) > 0 {
		return usedError(lists[0][0].Key.Name)
	}
	return declare(ctx, s, "declaring the store new", func(store.Stamp) int64 { return 0 })
}

// DeclareRestored asserts that the store may have forgotten claims, for example because it
// was restored from a dump, which has the same life. Then no claim is granted for a grace.
func DeclareRestored(ctx context.Context, s store.Store) error {
	return declare(ctx, s, "declaring the store restored", func(now store.Stamp) int64 { return now.Now.UnixMilli() })
}

// declare writes the life record.
func declare(ctx context.Context, s store.Store, doing string, since func(store.Stamp) int64) error {
	for {
		list, stamp, err := s.Read(ctx, records.LifeKey())
		if err != nil {
			return failed(doing, err)
		}
		o, err := s.Commit(ctx, store.Txn{
			Life: stamp.Life, If: []store.Compare{{Key: records.LifeKey(), Version: list[0].Version}},
			Put: []store.Write{records.Put(records.LifeKey(), records.Life{Life: stamp.Life, Since: since(stamp)})},
		})
		if err != nil {
			return failed(doing, err)
		}
		if o.Won {
			return nil
		}
	}
}
