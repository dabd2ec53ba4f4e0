package acts

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
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

// takeMost bounds the queued requests that one reading makes acts.
const takeMost = 50

// queuePage selects the part of the queue that this reading takes. The next one goes on behind it, and
// then begins again, so requests of many do not keep one waiting.
func (s *Store) queuePage() kv.Range {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := kv.Between(kv.Acts, "queue", s.from, "")
	r.Limit = takeMost
	return r
}

// turnPage sets where the next reading begins, after one that has read some of the queue.
func (s *Store) turnPage(queue []kv.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = ""
	if len(queue) == takeMost {
		s.from = queue[takeMost-1].Key.Next().Sub
	}
}

// Queued counts the requests that no reading has made acts yet, up to a bound.
func (s *Store) Queued(ctx context.Context) (int, error) {
	some := kv.Of(kv.Acts, "queue")
	some.Limit = openMost
	lists, _, err := s.store.List(ctx, some)
	return len(slices.Concat(lists...)), failed("counting queued requests", err)
}

// takeQueued makes queued requests acts, the oldest of them first, and reports whether it made any.
// It takes at most half the time that is left; the next reading goes on. One that cannot be taken
// is left, and those behind it are taken.
func (s *Store) takeQueued(ctx context.Context, queue []kv.Record) (any bool) {
	if until, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(until)/2)
		defer cancel()
	}
	s.turnPage(queue)
	slices.SortFunc(queue, func(a, b kv.Record) int { return cmp.Compare(a.Version, b.Version) })
	for _, r := range queue {
		err := s.change(ctx, "taking the request "+r.Key.Sub, func() (*kv.Txn, error) { return s.take(ctx, r) })
		switch {
		case errors.Is(err, kv.ErrUnavailable), errors.Is(err, locking.ErrSplit), ctx.Err() != nil, errors.As(err, new(*acts.Error)), errors.Is(err, kv.ErrFull):
			return any // as many as may be are open: they wait in the queue
		case err != nil:
			s.Unreadable.Skipped(r.Key.String(), err)
			continue
		}
		s.maySweep(ctx)
		any = true
	}
	return any
}

// take returns what makes a queued request an act, nil if it is no longer queued. One that is
// known as an act already is only removed; one that cannot be read or is not valid is refused in
// the audit log. A run's request is also missed in the ledger then.
func (s *Store) take(ctx context.Context, queued kv.Record) (*kv.Txn, error) {
	now, stamp, err := s.store.Read(ctx, queued.Key)
	if err != nil || now[0].Version != queued.Version {
		return nil, err
	}
	t := &kv.Txn{Life: stamp.Life}
	act, err := acts.Decode(queued.Value)
	if err != nil {
		s.Unreadable.Skipped(queued.Key.String(), err)
		act = unreadable.Act(queued.Key.String(), stamp.At(), err)
	}
	ready := act
	if err == nil {
		ready, err = act.Ready()
	}
	if err == nil {
		var made *kv.Txn
		if _, made, err = s.place(ctx, ready); made != nil {
			t = made
		}
		if err != nil && !errors.As(err, new(*acts.ReusedIDError)) {
			return nil, err
		}
	}
	t.If = append(t.If, kv.Compare{Key: queued.Key, Version: queued.Version})
	t.Delete = append(t.Delete, queued.Key)
	if err != nil {
		act.Result = acts.RefusedResult + err.Error()
		note := act.Noted(stamp.At())
		if act.Trigger == ledger.ByChain && act.Job != "" && len(act.Job) <= acts.MaxName {
			t.Put = append(t.Put, missed(note))
		}
		err = put(t, note, logKey("refused", note))
	}
	return t, err
}

// missed is the entry of a run that was asked for by another run, and refused.
func missed(note acts.Act) kv.Write {
	e := ledger.Entry{
		Outcome: ledger.Missed, Trigger: note.Trigger, Parent: note.Parent, Reason: ledger.TextReason("its request was " + note.Result),
	}
	r := records.Entry{Kind: records.NotRun, Stream: acts.StreamManual, Tick: note.At.UnixMilli(), Owner: note.ID, Rank: e.Rank(), Note: ledger.EncodeNote(e)}
	return records.Put(records.EntryKey(note.Job, r), r)
}
