package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// A lease is a claim that a quorum has accepted.
type lease struct {
	t     *try
	claim locking.Claim
	// deadline may be read during an extension.
	deadline atomic.Pointer[time.Time]
	// over is set once an operation has found the deadline passed. It stays set even if
	// the wall clock is set back.
	over bool
	// polled holds the nodes' answers to the last extension; nil before.
	polled atomic.Pointer[locking.Poll]
	// sem holds one permit, whose owner may use the try, over, ended and result.
	sem chan struct{}
	// ended: the lease was given back. Result is what later calls of Release return.
	ended  bool
	result error
}

// errOver: the deadline passed, so others may have worked even if the nodes know of
// none.
var errOver = fmt.Errorf("%w: its deadline has passed", locking.ErrLeaseLost)

func newLease(t *try, votes []vote, deadline time.Time) *lease {
	s := &lease{t: t, sem: make(chan struct{}, 1), claim: locking.Claim{
		Name: t.req.Name, Tick: t.req.Tick, Stream: t.req.Stream, Beside: t.req.Beside,
		Token: locking.Token(t.claim.Token), Attempt: t.claim.Attempt,
		Votes:   locking.Votes{For: count(votes, protocol.OK), Of: len(votes)},
		Poll:    t.l.poll(votes, t.rounds),
		Granted: time.Now(),
	}}
	s.deadline.Store(&deadline)
	s.sem <- struct{}{}
	return s
}

// Claim implements locking.Lease.
func (s *lease) Claim() locking.Claim { return s.claim }

// Deadline implements locking.Lease.
func (s *lease) Deadline() time.Time { return *s.deadline.Load() }

// LastPoll implements locking.Polled.
func (s *lease) LastPoll() locking.Poll {
	if p := s.polled.Load(); p != nil {
		return *p
	}
	return locking.Poll{}
}

// isOver reports whether the deadline has passed, for good.
func (s *lease) isOver() bool {
	s.over = s.over || locking.Expired(time.Now(), s.Deadline())
	return s.over
}

// Extend implements locking.Lease: rule N4 on all nodes, through redsync. Nodes that
// lack the claim get COMMIT first. It takes at most two node timeouts, and does not
// stop half-way when ctx ends. A round that ends after the deadline does not count.
func (s *lease) Extend(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	switch {
	case s.ended:
		return locking.ErrLeaseLost
	case s.isOver():
		return fmt.Errorf("extending %s with token %d: %w", s.claim.Name, s.claim.Token, errOver)
	}
	t := s.t
	r := t.round(ctx, extending, t.query(scripts.Extend, extends))
	t.eval.Store(r)
	ok, _ := t.mutex.ExtendContext(r.start().ctx) // the votes say more than the error
	votes := r.end()
	polled := t.l.poll(votes, 1)
	s.polled.Store(&polled)
	switch granted := count(votes, protocol.OK); {
	case ok && !s.isOver():
		deadline := earlier(r.begun.Add(t.l.cfg.validity(t.req.TTL)), t.mutex.Until())
		s.deadline.Store(&deadline)
		return nil
	case count(votes, protocol.Lost, protocol.Dead) >= t.l.blocking():
		return s.failed("extending", lost(votes), votes)
	case s.isOver():
		return s.failed("extending", errOver, votes)
	case granted >= t.l.set.Quorum():
		return s.failed("extending", locking.ErrTooSlow, votes)
	}
	return s.failed("extending", t.l.silence(votes), votes)
}

// lost is ErrLeaseLost, with an operator's reason if a node names one.
func lost(votes []vote) error {
	for _, v := range votes {
		if v.reason != "" {
			return &locking.EvictedError{Reason: v.reason}
		}
	}
	return locking.ErrLeaseLost
}

// Release implements locking.Lease: rule N5, at least once, repeated until a quorum has
// decided, the deadline has passed, or ctx has ended. A quorum decides
//
//	nil           if it acknowledged before the deadline
//	ErrExpired    if it did so later, or after the lock had expired there (RANOUT)
//	ErrLeaseLost  if it answered LATE: others may have worked since
//
// Later calls then return the same. Without a decision the error matches ErrNoQuorum or
// ErrRefused, and ErrLeaseLost if the deadline has passed, else the error of ctx.
func (s *lease) Release(ctx context.Context, note []byte) error { return s.finish(ctx, note, false) }

// HandOver implements locking.Lease: rule N5 with handover, repeated as by Release.
func (s *lease) HandOver(ctx context.Context, note []byte) error { return s.finish(ctx, note, true) }

func (s *lease) finish(ctx context.Context, note []byte, handover bool) error {
	if err := s.begin(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer s.end()
	if s.ended {
		return s.result
	}
	t := s.t
	query := t.finishQuery(note, handover)
	for wait := t.l.set.Timeout() / 4; ; wait = min(2*wait, retry.LongestPause) {
		r := t.round(ctx, ending, query)
		t.eval.Store(r)
		votes, _ := r.start().result()
		ok, _ := t.mutex.UnlockContext(r.ctx)
		switch {
		case ok && !s.isOver():
			s.markEnded(nil, query)
			return nil
		case count(votes, protocol.OK, protocol.RanOut) >= t.l.set.Quorum():
			s.markEnded(locking.ErrExpired, query)
			return s.failed("releasing", s.result, votes)
		case count(votes, protocol.Late) >= t.l.blocking():
			s.markEnded(locking.ErrLeaseLost, query)
			return s.failed("releasing", s.result, votes)
		case s.isOver():
			return s.failed("releasing", fmt.Errorf("%w, and %w", locking.ErrLeaseLost, t.l.silence(votes)), votes)
		}
		if !retry.Sleep(ctx, retry.CapBefore(s.Deadline(), wait)) {
			return retry.Ended(ctx, s.failed("releasing", t.l.silence(votes), votes))
		}
	}
}

// Void implements locking.Lease: rule N6 on all nodes, once. The cleaner repeats it at
// nodes that did not answer. An error means that fewer than a quorum know of it yet.
func (s *lease) Void(ctx context.Context) error {
	if err := s.begin(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer s.end()
	if s.ended {
		return nil
	}
	r := s.t.beginVoid(ctx)
	<-r.over
	known, _ := s.t.mutex.UnlockContext(r.ctx)
	s.markEnded(locking.ErrLeaseLost, s.t.voidQuery())
	if !known {
		return s.failed("voiding", s.t.l.silence(r.votes), r.votes)
	}
	return nil
}

// markEnded sets the result, and leaves nodes that did not answer to the cleaner.
func (s *lease) markEnded(result error, rest query) {
	s.ended, s.result = true, result
	s.t.retire(rest)
}

// begin waits for the operation in flight to end.
func (s *lease) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.sem:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *lease) end() { s.sem <- struct{}{} }

// failed says what too few nodes agreed to, and quotes the others.
func (s *lease) failed(doing string, reason error, votes []vote) error {
	var b strings.Builder
	for _, v := range votes {
		if err := v.objection(); err != nil {
			fmt.Fprintf(&b, "; %s: %v", v.node, err)
		}
	}
	if s.t.l.set.OneStore() {
		return fmt.Errorf("%s %s with token %d: %w%s", doing, s.claim.Name, s.claim.Token, reason, &b)
	}
	return fmt.Errorf("%s %s with token %d: %w (%d of %d nodes agreed%s)",
		doing, s.claim.Name, s.claim.Token, reason, count(votes, protocol.OK), len(votes), &b)
}
