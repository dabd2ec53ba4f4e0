package locktest

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/locking"
)

// memoryLease is a lease of a Memory, guarded by the Memory's mutex.
type memoryLease struct {
	m      *Memory
	of     *memoryName
	req    locking.Request
	owner  string
	claim  locking.Claim
	record *Record // nil without a tick

	until time.Time
	ended bool  // released or voided
	gone  error // what Release returns after it has ended
}

func (l *memoryLease) Claim() locking.Claim { return l.claim }

func (l *memoryLease) Deadline() time.Time {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.until
}

// Extend never revives a lease that has expired.
func (l *memoryLease) Extend(ctx context.Context) error {
	return l.do(ctx, func(now time.Time) error {
		s, a := protocol.Extend(l.of.state, node(now), try(l.req, l.owner, now))
		if l.ended || locking.Expired(now, l.until) || a.Code != protocol.OK {
			return locking.ErrLeaseLost
		}
		l.of.state, l.until = s, now.Add(l.req.TTL)
		return nil
	})
}

func (l *memoryLease) do(ctx context.Context, f func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return f(time.Now())
}

func (l *memoryLease) Release(ctx context.Context, note []byte) error {
	return l.end(ctx, note, false)
}

// HandOver leaves the tick as if its holder had died.
func (l *memoryLease) HandOver(ctx context.Context, note []byte) error {
	return l.end(ctx, note, true)
}

func (l *memoryLease) end(ctx context.Context, note []byte, handover bool) error {
	return l.do(ctx, func(now time.Time) error {
		if l.ended {
			return l.gone
		}
		s, a := protocol.Finish(l.of.state, node(now), try(l.req, l.owner, now), protocol.End{Handover: handover})
		switch a.Code {
		case protocol.Late:
			l.gone = locking.ErrLeaseLost
		case protocol.RanOut:
			l.gone = locking.ErrExpired
		}
		if l.record != nil {
			l.record.Finished, l.record.Late, l.record.FinishNote = true, a.Code == protocol.Late, slices.Clone(note)
		}
		l.of.state, l.ended = s, true
		return l.gone
	})
}

func (l *memoryLease) Void(ctx context.Context) error {
	return l.do(ctx, func(now time.Time) error {
		if l.ended {
			return nil
		}
		l.of.state, _ = protocol.Void(l.of.state, node(now), try(l.req, l.owner, now), false)
		l.ended, l.gone = true, locking.ErrLeaseLost
		l.of.records = slices.DeleteFunc(l.of.records, func(have *Record) bool { return have == l.record })
		return nil
	})
}
