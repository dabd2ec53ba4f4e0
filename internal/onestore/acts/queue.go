package acts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/acts"
)

// takeMost bounds the queued requests that one reading makes acts.
const takeMost = 50

// Queued counts the requests that no reading has made acts yet.
func (s *Store) Queued(ctx context.Context) (int, error) {
	lists, _, err := s.store.List(ctx, store.Of(store.Acts, "queue"))
	return len(slices.Concat(lists...)), failed("counting queued requests", err)
}

// takeQueued makes queued requests acts, oldest first, and reports whether it made any. It
// takes at most half the time that is left; the next reading goes on.
func (s *Store) takeQueued(ctx context.Context, queue []store.Record) (any bool) {
	if until, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(until)/2)
		defer cancel()
	}
	slices.SortFunc(queue, func(a, b store.Record) int { return cmp.Compare(a.Version, b.Version) })
	for _, r := range queue[:min(len(queue), takeMost)] {
		err := s.change(ctx, "taking the request "+r.Key.Sub, func() (*store.Txn, error) { return s.take(ctx, r) })
		if err != nil {
			break
		}
		s.maySweep(ctx)
		any = true
	}
	return any
}

// take returns what makes a queued request an act, nil if it is no longer queued. One that is
// known as an act already is only removed; one that is not valid is refused in the audit log.
func (s *Store) take(ctx context.Context, queued store.Record) (*store.Txn, error) {
	now, stamp, err := s.store.Read(ctx, queued.Key)
	if err != nil || now[0].Version != queued.Version {
		return nil, err
	}
	act, err := acts.Decode(queued.Value)
	if err != nil {
		return nil, err
	}
	t := &store.Txn{Life: stamp.Life}
	ready, err := act.Ready()
	if err == nil {
		var made *store.Txn
		if _, made, err = s.place(ctx, ready); made != nil {
			t = made
		}
		if err != nil && !errors.As(err, new(*acts.ReusedIDError)) {
			return nil, err
		}
	}
	t.If = append(t.If, store.Compare{Key: queued.Key, Version: queued.Version})
	t.Delete = append(t.Delete, queued.Key)
	if err != nil {
		act.Result = acts.RefusedResult + err.Error()
		note := act.Noted(stamp.At())
		err = put(t, note, logKey("refused", note))
	}
	return t, err
}
