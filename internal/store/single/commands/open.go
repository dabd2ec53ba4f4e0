package commands

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
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// openMost bounds the open requests of one reading: it is more than there may be.
const openMost = 3 * commands.MaxOpen

// Open implements [commands.Store]. It is one call of the store, unless requests are queued.
func (s *Store) Open(ctx context.Context) (commands.Open, error) {
	const doing = "reading the commands"
	ranges := []kv.Range{kv.Of(kv.Commands, "pause"), kv.Of(kv.Commands, "open"), s.queuePage()}
	ranges[1].Limit = openMost
	lists, stamp, err := s.store.List(ctx, ranges...)
	if err != nil {
		return commands.Open{}, failed(doing, err)
	}
	if s.takeQueued(ctx, lists[2]) {
		if now, at, err := s.store.List(ctx, ranges...); err == nil {
			lists, stamp = now, at
		}
	}
	var open commands.Open
	for _, r := range lists[0] {
		if _, err := commands.Decode(r.Value); err != nil {
			series, _ := url.PathUnescape(r.Key.Sub) // else it is a series that no job has
			open.Pauses = append(open.Pauses, unreadable.Pause(series, err))
		}
	}
	inForce, _ := s.decode(slices.Concat(lists[0], lists[1]))
	for _, command := range inForce {
		switch {
		case command.Kind == commands.Resume:
		case command.Kind == commands.Pause:
			open.Pause(command, stamp.At())
		case command.Expires().After(stamp.At()):
			open.Requests = append(open.Requests, command)
		case command.Expires().Add(keep).After(stamp.At()):
			open.Expired = append(open.Expired, command)
		}
	}
	commands.Sort(open.Requests)
	commands.Sort(open.Expired)
	return open, nil
}

// Audit implements [commands.Store].
func (s *Store) Audit(ctx context.Context, limit int) ([]commands.Command, error) {
	const doing = "reading the audit log"
	accepted, refused := kv.Of(kv.Commands, "audit"), kv.Of(kv.Commands, "refused")
	accepted.Limit, refused.Limit = max(1, limit), max(1, limit)
	lists, _, err := s.store.List(ctx, accepted, refused)
	if err != nil {
		return nil, failed(doing, err)
	}
	read, unread := s.decode(slices.Concat(lists...))
	all := append(read, unread...)
	commands.Sort(all)
	slices.Reverse(all)
	return all[:min(len(all), max(0, limit))], nil
}

// takeMost bounds the queued requests that one reading makes commands.
const takeMost = 50

// queuePage selects the part of the queue that this reading takes. The next one goes on behind it, and
// then begins again, so requests of many do not keep one waiting.
func (s *Store) queuePage() kv.Range {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := kv.Between(kv.Commands, "queue", s.from, "")
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

// Queued counts the requests that no reading has made commands yet, up to a bound.
func (s *Store) Queued(ctx context.Context) (int, error) {
	some := kv.Of(kv.Commands, "queue")
	some.Limit = openMost
	lists, _, err := s.store.List(ctx, some)
	return len(slices.Concat(lists...)), failed("counting queued requests", err)
}

// takeQueued makes queued requests commands, the oldest of them first, and reports whether it made any.
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
		case errors.Is(err, kv.ErrUnavailable), errors.Is(err, locking.ErrSplit), ctx.Err() != nil, errors.As(err, new(*commands.Error)), errors.Is(err, kv.ErrFull):
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

// take returns what makes a queued request a command, nil if it is no longer queued. One that is
// known as a command already is only removed; one that cannot be read or is not valid is refused in
// the audit log. A run's request is also missed in the ledger then.
func (s *Store) take(ctx context.Context, queued kv.Record) (*kv.Txn, error) {
	now, stamp, err := s.store.Read(ctx, queued.Key)
	if err != nil || now[0].Version != queued.Version {
		return nil, err
	}
	t := &kv.Txn{Incarnation: stamp.Incarnation}
	command, err := commands.Decode(queued.Value)
	if err != nil {
		s.Unreadable.Skipped(queued.Key.String(), err)
		command = unreadable.Command(queued.Key.String(), stamp.At(), err)
	}
	ready := command
	if err == nil {
		ready, err = command.Ready()
	}
	if err == nil {
		var made *kv.Txn
		if _, made, err = s.place(ctx, ready); made != nil {
			t = made
		}
		if err != nil && !errors.As(err, new(*commands.ReusedIDError)) {
			return nil, err
		}
	}
	t.If = append(t.If, kv.Compare{Key: queued.Key, Version: queued.Version})
	t.Delete = append(t.Delete, queued.Key)
	if err != nil {
		command.Result = commands.RefusedResult + err.Error()
		note := command.Noted(stamp.At())
		if command.Trigger == ledger.ByChain && command.Job != "" && len(command.Job) <= commands.MaxName {
			t.Put = append(t.Put, missed(note))
		}
		err = put(t, note, logKey("refused", note))
	}
	return t, err
}

// missed is the entry of a run that was asked for by another run, and refused.
func missed(note commands.Command) kv.Write {
	e := ledger.Entry{
		Outcome: ledger.Missed, Trigger: note.Trigger, Parent: note.Parent, Reason: ledger.TextReason("its request was " + note.Result),
	}
	r := records.Entry{Kind: records.NotRun, Stream: commands.StreamManual, Tick: note.At.UnixMilli(), Owner: note.ID, Rank: e.Rank(), Note: ledger.EncodeNote(e)}
	return records.Put(records.EntryKey(note.Job, r), r)
}
