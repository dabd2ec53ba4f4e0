package claims

import (
	"context"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// A refusedError says why an operator may not declare something of a store. It matches
// locking.ErrRefused, whose text is about nodes.
type refusedError string

func (e refusedError) Error() string { return string(e) }

func (refusedError) Is(target error) bool { return target == locking.ErrRefused }

func notNew(why string) error {
	return refusedError("declaring the store new: " + why + "; `quorate store init --restored` is for one that was restored")
}

// DeclareNew asserts that no claim was ever granted on the store, so that claims are granted
// at once. The error matches locking.ErrRefused if the store has claims, or if another server has
// taken over before it is declared.
func DeclareNew(ctx context.Context, s kv.Store) error {
	first := kv.All(kv.Claims)
	first.Limit = 1
	lists, unused, err := s.List(ctx, first)
	if err != nil {
		return kv.Failed("declaring the store new", err)
	}
	if len(lists[0]) > 0 {
		return notNew("it has claims, such as that of " + lists[0][0].Key.Name)
	}
	return declare(ctx, s, "declaring the store new", func(_ records.Incarnation, at kv.Stamp) (records.Incarnation, error) {
		if at.Incarnation != unused.Incarnation {
			return records.Incarnation{}, notNew("another server has taken over meanwhile, which may have forgotten claims")
		}
		return records.Incarnation{ID: at.Incarnation}, nil
	})
}

// DeclareRestored asserts that the store may have forgotten claims, for example because it
// was restored from a dump, which has the same incarnation. Then no claim is granted for a grace.
func DeclareRestored(ctx context.Context, s kv.Store, grace time.Duration) error {
	return declare(ctx, s, "declaring the store restored", func(known records.Incarnation, at kv.Stamp) (records.Incarnation, error) {
		return known.Next(at, grace), nil
	})
}

// DeclareAhead asserts that the store's clock was ahead and has been corrected, so its tokens are
// ahead of it. Claims are granted again, with tokens right above those. It returns until when,
// by the store's clock, they are ahead of it.
//
// Tokens that were granted so are not above the floor of another incarnation, which begins by the
// clock. So another incarnation grants nothing until then.
func DeclareAhead(ctx context.Context, s kv.Store, grace time.Duration) (until time.Time, err error) {
	const doing = "going on from the tokens"
	highest, err := highestToken(ctx, s)
	if err != nil {
		return until, kv.Failed(doing, err)
	}
	err = declare(ctx, s, doing, func(known records.Incarnation, at kv.Stamp) (records.Incarnation, error) {
		why := ""
		switch {
		case at.Now.IsZero():
			why = "this store has no clock: its tokens are never too far ahead"
		case !protocol.TimeOf(highest).After(at.Now.Add(grace / 2)):
			why = "its clock allows tokens above the highest one: claims are granted. If it is ahead, correct it first"
		case known.AheadIn == "" && known.Ahead > at.Now.UnixMilli():
			why = "a server that has taken over may have forgotten tokens up to " + toSecond(time.UnixMilli(known.Ahead)) + ": claims are granted after that"
		case known.ID != at.Incarnation:
			why = "another server has taken over, and no replica has noted it yet: try again in a moment"
		}
		if why != "" {
			return known, refusedError(doing + ": " + why)
		}
		until = time.UnixMilli(max(protocol.TimeOf(highest).Add(grace/2).UnixMilli(), known.Ahead)).UTC()
		known.Ahead, known.AheadIn = until.UnixMilli(), at.Incarnation
		return known, nil
	})
	return until, err
}

// highestToken is the largest of all names, forgotten ones included.
func highestToken(ctx context.Context, s kv.Store) (uint64, error) {
	list, _, err := s.Read(ctx, records.ForgottenKey())
	if err != nil {
		return 0, err
	}
	forgotten, err := records.Decode[records.Forgotten](list[0])
	if err != nil {
		return 0, err
	}
	highest, claims := forgotten.Fence, kv.All(kv.Claims)
	claims.Limit = page
	err = kv.Each(ctx, s, claims, func(some []kv.Record, _ kv.Stamp) error {
		for _, r := range some {
			c, err := records.Decode[records.Claims](r)
			if err != nil {
				return err
			}
			highest = max(highest, c.Fence)
		}
		return nil
	})
	return highest, err
}

// NoteIncarnation notes an incarnation that no record has, so that its grace begins. Claims note it, too, but
// the next one may be hours away.
func NoteIncarnation(ctx context.Context, s kv.Store, grace time.Duration) error {
	return declare(ctx, s, "noting that another server has taken over", func(known records.Incarnation, at kv.Stamp) (records.Incarnation, error) {
		now, _ := known.Now(at, grace)
		return now, nil
	})
}

// declare replaces the incarnation that the store has by what next returns, unless that is the same.
func declare(ctx context.Context, s kv.Store, doing string, next func(known records.Incarnation, at kv.Stamp) (records.Incarnation, error)) error {
	for {
		list, stamp, err := s.Read(ctx, records.IncarnationKey())
		if err != nil {
			return kv.Failed(doing, err)
		}
		known, err := records.UsableIncarnation(list[0])
		if err != nil {
			return kv.Failed(doing, err)
		}
		incarnation, err := next(known, stamp)
		if err != nil || incarnation == known {
			return err
		}
		o, err := s.Commit(ctx, kv.Txn{
			Incarnation: stamp.Incarnation, If: []kv.Compare{{Key: records.IncarnationKey(), Version: list[0].Version}},
			Put: []kv.Write{records.PutIncarnation(incarnation)},
		})
		if err != nil || o.Won {
			return kv.Failed(doing, err)
		}
	}
}
