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

// Extend never takes a lease up again that ran out. Others that run beside it do not
// matter while it lasts.
func (l *memoryLease) Extend(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.ended || !l.last() && !l.shares() || locking.Expired(time.Now(), l.until) {
		return locking.ErrLeaseLost
	}
	l.until = time.Now().Add(l.req.TTL)
	l.hold()
	return nil
}

// hold makes the lock, or a share of it, the lease's until its deadline.
func (l *memoryLease) hold() {
	h := lockHold{claim: l.claim, holder: l.req.Holder, until: l.until}
	if !l.req.Beside {
		l.s.lock = h
		return
	}
	now := time.Now()
	l.s.shares = slices.DeleteFunc(l.s.shares, func(o lockHold) bool { return o.claim.Token == l.claim.Token || !o.held(now) })
	l.s.shares = append(l.s.shares, h)
}

// last tells whether no lease was granted after this one.
func (l *memoryLease) last() bool { return l.s.fence == l.claim.Token }

// shares tells whether the lease has a share of the lock that has not run out.
func (l *memoryLease) shares() bool { return l.req.Beside && l.s.holds(l.claim.Token, time.Now()) }

// holds tells whether the lock, or a share of it, is that of the token.
func (s *lockState) holds(t locking.Token, now time.Time) bool {
	return slices.ContainsFunc(append(slices.Clip(s.shares), s.lock), func(h lockHold) bool {
		return h.claim.Token == t && h.held(now)
	})
}

func (l *memoryLease) Release(ctx context.Context, note []byte) error {
	return l.end(ctx, note, func(c *tickClaim) { c.done = true })
}

// HandOver leaves the tick as it is when its holder has died.
func (l *memoryLease) HandOver(ctx context.Context, note []byte) error {
	return l.end(ctx, note, func(*tickClaim) {})
}

func (l *memoryLease) end(ctx context.Context, note []byte, as func(*tickClaim)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if !l.ended {
		l.finish(note, as)
	}
	return l.gone
}

func (l *memoryLease) finish(note []byte, as func(*tickClaim)) {
	l.ended = true
	late := !l.last() && !l.shares()
	switch {
	case late:
		l.gone = locking.ErrLeaseLost
	case !l.s.holds(l.claim.Token, time.Now()):
		l.gone = locking.ErrExpired
	}
	if l.record != nil {
		l.record.Finished, l.record.Late, l.record.FinishNote = true, late, slices.Clone(note)
	}
	l.s.unlock(l.claim.Token)
	l.mark(as)
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

// unlock frees the lock, or the share of it, if it is still that of the token.
func (s *lockState) unlock(t locking.Token) {
	s.shares = slices.DeleteFunc(s.shares, func(h lockHold) bool { return h.claim.Token == t })
	if s.lock.claim.Token == t {
		s.lock = lockHold{}
	}
}
