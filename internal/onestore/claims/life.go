package claims

import (
	"cmp"
	"context"
	"time"

	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
)

// A notNewError says why a store cannot be declared new.
type notNewError string

func (e notNewError) Error() string {
	return "declaring the store new: " + string(e) + "; `quorate store init --restored` is for one that was restored"
}

// Is makes it match locking.ErrRefused, whose text is about nodes.
func (notNewError) Is(target error) bool { return target == locking.ErrRefused }

// DeclareNew asserts that no claim was ever granted on the store, so that claims are granted
// at once. The error matches locking.ErrRefused if the store has claims, or if another server has
// taken over before it is declared.
func DeclareNew(ctx context.Context, s store.Store) error {
	first := store.All(store.Claims)
	first.Limit = 1
	lists, unused, err := s.List(ctx, first)
	if err != nil {
		return store.Failed("declaring the store new", err)
	}
	if len(lists[0]) > 0 {
		return notNewError("it has claims, such as that of " + lists[0][0].Key.Name)
	}
	var failover error
	err = declare(ctx, s, "declaring the store new", func(_ records.Life, at store.Stamp) (records.Life, bool) {
		if at.Life != unused.Life {
			failover = notNewError("another server has taken over meanwhile, which may have forgotten claims")
		}
		return records.Life{Life: at.Life}, failover == nil
	})
	return cmp.Or(err, failover)
}

// DeclareRestored asserts that the store may have forgotten claims, for example because it
// was restored from a dump, which has the same life. Then no claim is granted for a grace.
func DeclareRestored(ctx context.Context, s store.Store, grace time.Duration) error {
	return declare(ctx, s, "declaring the store restored", func(_ records.Life, at store.Stamp) (records.Life, bool) {
		return records.NewLife(at, grace), true
	})
}

// NoteLife notes a life that no record has, so that its grace begins. Claims note it, too, but
// the next one may be hours away.
func NoteLife(ctx context.Context, s store.Store, grace time.Duration) error {
	return declare(ctx, s, "noting that another server has taken over", func(known records.Life, at store.Stamp) (records.Life, bool) {
		return known.Now(at, grace)
	})
}

// declare writes the life that next returns, if it says so.
func declare(ctx context.Context, s store.Store, doing string, next func(known records.Life, at store.Stamp) (records.Life, bool)) error {
	for {
		list, stamp, err := s.Read(ctx, records.LifeKey())
		if err != nil {
			return store.Failed(doing, err)
		}
		known, err := records.UsableLife(list[0])
		if err != nil {
			return store.Failed(doing, err)
		}
		life, changed := next(known, stamp)
		if !changed {
			return nil
		}
		o, err := s.Commit(ctx, store.Txn{
			Life: stamp.Life, If: []store.Compare{{Key: records.LifeKey(), Version: list[0].Version}},
			Put: []store.Write{records.PutLife(life)},
		})
		if err != nil {
			return store.Failed(doing, err)
		}
		if o.Won {
			return nil
		}
	}
}
