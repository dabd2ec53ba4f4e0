package acts

import (
	"context"
	"net/url"
	"slices"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/acts"
)

// openMost bounds the open requests of one reading: it is more than there may be.
const openMost = 3 * acts.MaxOpen

// Open implements [acts.Store]. It is one call of the store, unless requests are queued.
func (s *Store) Open(ctx context.Context) (acts.Open, error) {
	const doing = "reading the acts"
	ranges := []kv.Range{kv.Of(kv.Acts, "pause"), kv.Of(kv.Acts, "open"), s.queuePage()}
	ranges[1].Limit = openMost
	lists, stamp, err := s.store.List(ctx, ranges...)
	if err != nil {
		return acts.Open{}, failed(doing, err)
	}
	if s.takeQueued(ctx, lists[2]) {
		if now, at, err := s.store.List(ctx, ranges...); err == nil {
			lists, stamp = now, at
		}
	}
	var open acts.Open
	for _, r := range lists[0] {
		if _, err := acts.Decode(r.Value); err != nil {
			line, _ := url.PathUnescape(r.Key.Sub) // else it is a line that no job has
			open.Pauses = append(open.Pauses, unreadable.Pause(line, err))
		}
	}
	for _, act := range s.decode(slices.Concat(lists[0], lists[1])) {
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
	accepted, refused := kv.Of(kv.Acts, "audit"), kv.Of(kv.Acts, "refused")
	accepted.Limit, refused.Limit = max(1, limit), max(1, limit)
	lists, _, err := s.store.List(ctx, accepted, refused)
	if err != nil {
		return nil, failed(doing, err)
	}
	listed := slices.Concat(lists...)
	all := append(s.decode(listed), s.unread(listed)...)
	acts.Sort(all)
	slices.Reverse(all)
	return all[:min(len(all), max(0, limit))], nil
}
