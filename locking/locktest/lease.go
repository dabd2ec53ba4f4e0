package locktest

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

// memoryLease is a lease of a Memory, guarded by the Memory's mutex.
type memoryLease struct {
	m      *Memory
	s      *lockState
	req    locking.Request
	claim  locking.Claim
	record *Record // nil without a tick

	until time.Time
	ended bool  // released or voided
	gone  error // what Release returns once it has ended
}

func (l *memoryLease) Claim() locking.Claim { return l.claim }

func (l *memoryLease) Deadline() time.Time {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.until
}

// Extend also takes a lease up again that ran out, as long as nobody else has
// had one since.
func (l *memoryLease) Extend(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.ended || !l.last() {
		return locking.ErrLeaseLost
	}
	l.until = time.Now().Add(l.req.TTL)
	l.s.lock = lockHold{claim: l.claim, holder: l.req.Holder, until: l.until}
	return nil
}

// last tells whether no lease was granted after this one.
func (l *memoryLease) last() bool { return l.s.fence == l.claim.Token }

func (l *memoryLease) Release(ctx context.Context, note []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if !l.ended {
		l.finish(note)
	}
	return l.gone
}

func (l *memoryLease) finish(note []byte) {
	l.ended = true
	switch {
	case !l.last():
		l.gone = locking.ErrLeaseLost
	case !l.s.lock.held(time.Now()):
		l.gone = locking.ErrExpired
	}
	if l.record != nil {
		l.record.Finished, l.record.Late, l.record.FinishNote = true, !l.last(), slices.Clone(note)
	}
	l.s.unlock(l.claim.Token)
	l.mark(func(c *tickClaim) { c.done = true })
}

func (l *memoryLease) Void(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended, l.gone = true, locking.ErrLeaseLost
	l.s.forget(l.record)
	l.s.unlock(l.claim.Token)
	l.mark(func(c *tickClaim) { c.void = true })
	return nil
}

// mark says what became of the tick, if its stream still stands there.
func (l *memoryLease) mark(as func(*tickClaim)) {
	stream := l.req.InStream()
	if last := l.s.ticks[stream]; last.claim.Token == l.claim.Token {
		as(&last)
		l.s.ticks[stream] = last
	}
}

// unlock frees the lock if it is still that of the token.
func (s *lockState) unlock(t locking.Token) {
	if s.lock.claim.Token == t {
		s.lock = lockHold{}
	}
}
