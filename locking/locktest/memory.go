package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
)

// keep is how many records of one name a Memory remembers by default.
const keep = 1000

// Memory is a [locking.Watcher] for tests: one node that never fails, shared by
// all replicas of the process. It goes by time.Now, so it follows the virtual
// time of a synctest bubble. The zero value is ready to use.
type Memory struct {
	// Keep bounds the claims that Records remembers of one name. Default 1000.
	Keep int

	mu    sync.Mutex
	names map[string]*lockState
}

// lockState is what Memory knows of one name. The token of an attempt also
// tells owners apart, since no two are the same.
type lockState struct {
	fence   locking.Token // of the last claim
	lock    lockHold
	shares  []lockHold           // of the lock, one per tick, of those that run beside one another
	ticks   map[string]tickClaim // the last of each stream
	records []*Record            // oldest first
}

// lockHold is the lock itself: who may work, until when.
type lockHold struct {
	claim  locking.Claim
	holder string
	until  time.Time
}

func (h lockHold) held(now time.Time) bool { return now.Before(h.until) }

// tickClaim is the last tick claimed of a stream and what became of it.
type tickClaim struct {
	claim      locking.Claim
	holder     string
	mode       locking.Mode
	done, void bool
}

// TryAcquire implements [locking.Locker].
func (m *Memory) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if err := req.CheckStream(); err != nil {
		return nil, fmt.Errorf("bad lock request %q: %w", req.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(refuse(req, locking.ErrNoQuorum, lockHold{}), err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, s := time.Now(), m.state(req.Name)
	if err := s.refuses(req, now); err != nil {
		return nil, err
	}
	l := &memoryLease{m: m, s: s, req: req, claim: s.next(req, now), until: now.Add(req.TTL)}
	s.fence = l.claim.Token
	l.hold()
	if !req.Tick.IsZero() {
		s.ticks[req.InStream()] = tickClaim{claim: l.claim, holder: req.Holder, mode: req.Mode}
		l.record = s.start(l.claim, req, cmp.Or(m.Keep, keep))
	}
	return l, nil
}

func (m *Memory) state(name string) *lockState {
	if m.names == nil {
		m.names = map[string]*lockState{}
	}
	s := m.names[name]
	if s == nil {
		s = &lockState{ticks: map[string]tickClaim{}}
		m.names[name] = s
	}
	return s
}

// refuses returns why the request cannot be granted now, nil if it can.
func (s *lockState) refuses(req locking.Request, now time.Time) error {
	if !req.Tick.IsZero() {
		last := s.ticks[req.InStream()]
		if reason := last.closes(req); reason != nil {
			return refuse(req, reason, lockHold{claim: last.claim, holder: last.holder})
		}
	}
	if by, is := s.inTheWay(req, now); is {
		return refuse(req, locking.ErrTaken, by)
	}
	return nil
}

// inTheWay returns who keeps the request from the lock, or from a share of it:
// the lock keeps out everybody; shares whoever wants the lock, and attempts of
// the same tick.
func (s *lockState) inTheWay(req locking.Request, now time.Time) (lockHold, bool) {
	if s.lock.held(now) {
		return s.lock, true
	}
	for _, h := range s.shares {
		same := h.claim.Tick.Equal(req.Tick) && h.claim.Stream == req.Stream
		if h.held(now) && (same || !req.Beside) {
			return h, true
		}
	}
	return lockHold{}, false
}

// closes returns why the tick of the request can never be claimed any more, or
// not while its claim stands.
func (c tickClaim) closes(req locking.Request) error {
	switch last := c.claim.Tick; {
	case last.After(req.Tick):
		return locking.ErrSuperseded
	case !last.Equal(req.Tick):
		return nil
	case c.done:
		return locking.ErrDone
	case !c.void && (c.mode == locking.AtMostOnce || req.Mode == locking.AtMostOnce):
		return locking.ErrClaimed
	}
	return nil
}

// next is the claim the request would get: a token above every earlier one, and
// above those of any memory lost before the current second.
func (s *lockState) next(req locking.Request, now time.Time) locking.Claim {
	c := locking.Claim{
		Name: req.Name, Tick: req.Tick, Stream: req.Stream, Beside: req.Beside, Attempt: 1, Granted: now,
		Token: max(s.fence+1, locking.Token(now.Unix())<<20),
		Votes: locking.Votes{For: 1, Of: 1},
	}
	if last := s.ticks[req.InStream()].claim; !req.Tick.IsZero() && last.Tick.Equal(req.Tick) {
		c.Attempt = last.Attempt + 1
	}
	return c
}

func refuse(req locking.Request, reason error, by lockHold) error {
	return &locking.AcquireError{
		Reason: reason, Name: req.Name, Holder: by.holder,
		HolderTick: by.claim.Tick, HolderToken: by.claim.Token, Until: by.until,
		Votes: locking.Votes{Of: 1},
	}
}
