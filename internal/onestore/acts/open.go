package acts

import (
	"context"
	"slices"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/acts"
)

// Open implements [acts.Store]. It is one call of the store, unless requests are queued.
func (s *Store) Open(ctx context.Context) (acts.Open, error) {
	const doing = "reading the acts"
	ranges := []store.Range{store.Of(store.Acts, "pause"), store.Of(store.Acts, "open"), store.Of(store.Acts, "queue")}
	lists, stamp, err := s.store.List(ctx, ranges...)
	if err != nil {
		return acts.Open{}, failed(doing, err)
	}
	if s.takeQueued(ctx, lists[2]) {
		if now, at, err := s.store.List(ctx, ranges...); err == nil {
			lists, stamp = now, at
		}
	}
	all, err := decode(slices.Concat(lists[0], lists[1]))
	if err != nil {
		return acts.Open{}, failed(doing, err)
	}
	var open acts.Open
	for _, act := range all {
		switch {
		case act.Kind == acts.Resume:
		case act.Kind == acts.Pause:
			open.Pauses = append(open.Pauses, act)
		case act.Expires().After(stamp.At()):
			open.Requests = append(open.Requests, act)
		case act.Expires().Add(keep).After(stamp.At()):
			open.Expired = append(open.Expired, act)
		}
	}
	acts.Sort(open.Requests)
	acts.Sort(open.Expired)
	return open, nil
}

// Audit implements [acts.Store].
func (s *Store) Audit(ctx context.Context, limit int) ([]acts.Act, error) {
	const doing = "reading the audit log"
	accepted, refused := store.Of(store.Acts, "audit"), store.Of(store.Acts, "refused")
	accepted.Limit, refused.Limit = max(1, limit), max(1, limit)
	lists, _, err := s.store.List(ctx, accepted, refused)
	if err != nil {
		return nil, failed(doing, err)
	}
	all, err := decode(slices.Concat(lists...))
	if err != nil {
		return nil, failed(doing, err)
	}
	acts.Sort(all)
	slices.Reverse(all)
	return all[:min(len(all), max(0, limit))], nil
}
