package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/locking"
)

// A lease is a claim that a quorum has accepted.
type lease struct {
	l     *Locker
	a     *attempt
	claim locking.Claim
	// deadline is read while an extension is under way.
	deadline atomic.Pointer[time.Time]
	// over is that an operation has found the deadline passed: it stays so, also
	// where the wall clock is set back.
	over bool
	// polled is what the nodes said to the last extension; nil before.
	polled atomic.Pointer[locking.Poll]
	// turn holds one token: whoever has it may use the attempt, over and ended.
	turn  chan struct{}
	ended ending
}

// An ending is how a lease was given back.
type ending int

const (
	notEnded ending = iota
	released
	expired    // released, after the lock had run out
	superseded // released, but others may have worked since
	voided
)

// errOver: somebody else may have worked since, even if the nodes know of nobody.
var errOver = fmt.Errorf("%w: its deadline has passed", locking.ErrLeaseLost)

// errUnheard: the lease was over before a quorum knew of its end, so nobody can
// say whether others have worked since.
var errUnheard = fmt.Errorf("%w, and %w", locking.ErrLeaseLost, locking.ErrNoQuorum)

func newLease(l *Locker, a *attempt, deadline time.Time) *lease {
	s := &lease{l: l, a: a, turn: make(chan struct{}, 1), claim: locking.Claim{
		Name: a.req.Name, Tick: a.req.Tick, Stream: a.req.Stream, Beside: a.req.Beside,
		Token: locking.Token(a.ballot.token), Attempt: a.ballot.attempt,
		Votes:   locking.Votes{For: count(a.votes, codeOK), Of: len(a.votes)},
		Poll:    l.tally(a.nodes, a.votes, a.rounds),
		Granted: time.Now(),
	}}
	s.deadline.Store(&deadline)
	s.turn <- struct{}{}
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

// isOver tells whether the deadline has passed, for good.
func (s *lease) isOver() bool {
	s.over = s.over || locking.Expired(time.Now(), s.Deadline())
	return s.over
}

// Extend implements locking.Lease: rule N4 on all nodes, counted afresh. Nodes that
// the claim has left out are asked for it first. It takes a node timeout at most,
// the first one two, and does not stop half-way when ctx ends. A round that ends
// after the deadline counts only if a quorum held the lock all the time.
func (s *lease) Extend(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	switch {
	case s.ended != notEnded:
		return locking.ErrLeaseLost
	case s.isOver():
		return fmt.Errorf("extending %s with token %d: %w", s.claim.Name, s.claim.Token, errOver)
	}
	votes, ok := s.a.poll(ctx, s.a.redsync().ExtendContext, s.a.extendAt)
	unbroken := count(votes, codeRenewed) >= s.a.set.Quorum()
	polled := s.l.tally(s.a.nodes, votes, 1)
	s.polled.Store(&polled)
	switch {
	case ok && (unbroken || !s.isOver()):
		deadline := s.a.deadline(votes)
		s.deadline.Store(&deadline)
		return nil
	case count(votes, codeLost, codeDead) >= s.a.blocking():
		return s.failed("extending", lost(votes), votes)
	case s.isOver():
		return s.failed("extending", errOver, votes)
	case accepted(votes) >= s.a.set.Quorum():
		return s.failed("extending", locking.ErrTooSlow, votes)
	}
	return s.failed("extending", locking.ErrNoQuorum, votes)
}

// lost is ErrLeaseLost, with an operator's reason if the nodes name one.
func lost(votes []vote) error {
	for _, v := range votes {
		if v.reason != "" {
			return &locking.EvictedError{Reason: v.reason}
		}
	}
	return locking.ErrLeaseLost
}

// extendAt is N4. What the node renewed may be what another request has set again,
// before or behind the lock of somebody else: COMMIT just now, or one that was left
// unanswered.
func (a *attempt) extendAt(ctx context.Context, node int) vote {
	surely := !a.spares(node) && !a.open[node]
	if a.spares(node) {
		// That it accepts counts for nothing: it would say so again after others
		// had the lock.
		if v := a.joinAt(ctx, node); !v.ok() {
			return v
		}
	}
	v := a.call(ctx, node, extendScript, a.ballot.token)
	if v.code == codeRenewed && !surely {
		v.code = codeSet
	}
	return v
}

// Release implements locking.Lease: rule N5, repeated until a quorum knows, the
// deadline has passed, or ctx has ended; it is tried at least once. Once a
// quorum has decided, it returns the same again. Where the deadline passed
// before that, the error matches both ErrLeaseLost and ErrNoQuorum.
func (s *lease) Release(ctx context.Context, note []byte) error { return s.finish(ctx, note, false) }

// HandOver implements locking.Lease: rule N5 with handover, repeated as Release does.
func (s *lease) HandOver(ctx context.Context, note []byte) error { return s.finish(ctx, note, true) }

func (s *lease) finish(ctx context.Context, note []byte, handover bool) error {
	if err := s.begin(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer s.end()
	switch s.ended {
	case released:
		return nil
	case expired:
		return locking.ErrExpired
	case superseded, voided:
		return locking.ErrLeaseLost
	case notEnded:
	}
	s.a.handover = handover
	record := s.a.record(s.a.ballot, note)
	for wait := s.a.set.Timeout() / 4; ; wait = min(2*wait, longestPause) {
		late := s.isOver()
		votes, ok := s.a.finish(ctx, record)
		switch {
		case ok:
			err := s.closed(votes, late)
			s.l.cleaner.cleanUp(s.a, s.a.finishedAt(record))
			return err
		case count(votes, codeLate) >= s.a.blocking():
			s.ended = superseded
			return s.failed("releasing", locking.ErrLeaseLost, votes)
		}
		if s.isOver() {
			return s.failed("releasing", errUnheard, votes)
		}
		if s.a.spared != nil {
			s.a.joinAll(ctx)
			continue
		}
		if !pause(ctx, min(wait, time.Until(s.Deadline()))) {
			return errors.Join(s.failed("releasing", locking.ErrNoQuorum, votes), ctx.Err())
		}
	}
}

// closed ends the lease, whose claim a quorum has closed, and tells whether it was
// held until then: a quorum was asked before the deadline, and had its lock. After
// the deadline a node may have it from a request that was left unanswered.
func (s *lease) closed(votes []vote, late bool) error {
	held := 0
	for i, v := range votes {
		if v.ok() && (!s.a.open[i] || !s.isOver()) {
			held++
		}
	}
	if !late && held >= s.a.set.Quorum() {
		s.ended = released
		return nil
	}
	s.ended = expired
	return s.failed("releasing", locking.ErrExpired, votes)
}

func (a *attempt) finish(ctx context.Context, record string) ([]vote, bool) {
	votes := a.ask(ctx, func(node int) bool { return !a.spares(node) }, finishScript, a.finishArgs(record)...)
	for i, v := range votes {
		a.finished(i, v)
	}
	return votes, a.over(votes)
}

func (a *attempt) finishAt(ctx context.Context, node int, record string) vote {
	return a.finished(node, a.call(ctx, node, finishScript, a.finishArgs(record)...))
}

func (a *attempt) finishArgs(record string) []any {
	own := []any{a.ballot.token, a.cfg.Keep, a.ballot.record, record}
	if a.handover {
		own = append(own, flagArg(true))
	}
	return own
}

func (a *attempt) finished(node int, v vote) vote {
	if v.err == nil && !a.open[node] {
		a.left[node] = false
	}
	return v
}

// finishedAt is for nodes that did not answer while others made a quorum. Where
// requests are still on their way, they must find a tombstone.
func (a *attempt) finishedAt(record string) func(ctx context.Context, node int) vote {
	return func(ctx context.Context, node int) vote {
		v := a.finishAt(ctx, node, record)
		if v.err == nil && a.open[node] {
			return a.abortAt(ctx, node)
		}
		return v
	}
}

// Void implements locking.Lease: rule N6 on all nodes, once, and in the
// background on those that did not answer. An error says that fewer than a
// quorum know yet.
func (s *lease) Void(ctx context.Context) error {
	if err := s.begin(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer s.end()
	if s.ended != notEnded {
		return nil
	}
	s.ended = voided
	votes := s.a.voidWhere(ctx, everyone)
	var err error
	if !s.a.over(votes) {
		err = s.failed("voiding", locking.ErrNoQuorum, votes)
	}
	s.l.cleaner.cleanUp(s.a, s.a.voidAt)
	return err
}

// begin waits for the operation under way to end.
func (s *lease) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *lease) end() { s.turn <- struct{}{} }

// failed names what too few nodes agreed to, and what each of the others said.
func (s *lease) failed(doing string, reason error, votes []vote) error {
	var b strings.Builder
	for _, v := range votes {
		if err := v.objection(); err != nil {
			fmt.Fprintf(&b, "; %s: %v", v.node, err)
		}
	}
	return fmt.Errorf("%s %s with token %d: %w (%d of %d nodes agreed%s)",
		doing, s.claim.Name, s.claim.Token, reason, accepted(votes), len(votes), &b)
}
