package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A transaction is one of package kv.
type transaction struct {
	incarnation string
	changes     []groups.Change
}

// A verdict is what was decided about a transaction.
type verdict struct {
	kv.Outcome
	decided bool // else one of its slots is locked
}

// Commit implements [kv.Store].
func (s *Store) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if err := t.Check(s.Config.Limits); err != nil {
		return kv.Outcome{}, err
	}
	m := &groups.Member[transaction, kv.Outcome]{Ctx: ctx, Ask: transaction{t.Incarnation, groups.Changes(t)}, Urgency: t.Urgency}
	for _, c := range m.Ask.changes {
		m.Keys, m.Bytes = append(m.Keys, c.Key), m.Bytes+len(c.Value)
	}
	alone, err := s.commits.Do(m)
	if alone {
		m.Answer, err = s.commitAlone(ctx, m.Ask, m.Urgency)
	}
	if err != nil {
		return kv.Outcome{}, s.Dialect.Failure(ctx, "commit", err)
	}
	return m.Answer, nil
}

// connectToCommit returns what sends a group of transactions.
func (s *Store) connectToCommit(ctx context.Context) (func(context.Context, []*groups.Member[transaction, kv.Outcome]) bool, error) {
	conn, err := s.Dialect.Connect(ctx)
	return func(ctx context.Context, group []*groups.Member[transaction, kv.Outcome]) bool {
		defer func() { _ = conn.Close() }()
		if len(group) == 0 {
			return false
		}
		var list []transaction
		for _, m := range group {
			list = append(list, m.Ask)
		}
		verdicts, err := s.decide(ctx, conn, list)
		for i, m := range group {
			switch {
			case err == nil && verdicts[i].decided:
				m.Answer = verdicts[i].Outcome
			case err == nil, s.Dialect.Undone(err):
				m.Alone = true
			default:
				m.Err = err
			}
		}
		return false
	}, err
}

// Pauses between the tries of a transaction that others keep from what it needs, and the longest that
// one without a deadline is tried.
const (
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
	unbounded  = 30 * time.Second
)

// commitAlone tries a transaction until nobody holds what it needs. An extension does not wait for those
// that do.
func (s *Store) commitAlone(ctx context.Context, t transaction, u kv.Urgency) (o kv.Outcome, err error) {
	if u != kv.Extends {
		select {
		case s.single <- struct{}{}:
			defer func() { <-s.single }()
		case <-ctx.Done():
			return o, groups.Unsent{Err: ctx.Err()}
		}
	}
	until, bounded := ctx.Deadline()
	if !bounded {
		until = time.Now().Add(unbounded)
	}
	// Less than the caller waits: the error says then that nothing was changed.
	until = until.Add(-time.Until(until) / 4)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		conn, err := s.Dialect.Connect(ctx)
		if err != nil {
			return o, err
		}
		verdicts, err := s.decide(ctx, conn, []transaction{t})
		_ = conn.Close()
		switch {
		case err == nil && verdicts[0].decided:
			return verdicts[0].Outcome, nil
		case err != nil && !s.Dialect.Undone(err):
			return o, err
		}
		wait := pause/2 + rand.N(pause)
		if time.Until(until) < wait || !retry.Sleep(ctx, wait) {
			if err == nil {
				err = errSlot
			}
			return o, groups.Unsent{Err: fmt.Errorf("%w: %w", errLocked, err)}
		}
	}
}

// decide decides the transactions one after the other, and commits those that win together. Each sees
// what those before it write. What is decided counts when all is committed. An error before that
// is known to have changed nothing.
func (s *Store) decide(ctx context.Context, conn *sql.Conn, list []transaction) ([]verdict, error) {
	p := newPlan(s.Slots, list)
	texts := s.Texts.locking(p)
	if s.Answered != nil {
		texts = []statement{joined(append([]statement{{text: s.Texts.Begin}}, texts...))}
	} else if _, err := conn.ExecContext(ctx, s.Texts.Begin); err != nil {
		return nil, groups.Unsent{Err: err}
	}
	now, err := look(ctx, conn, texts, p.find)
	if err != nil {
		s.rollBack(ctx, conn)
		return nil, groups.Unsent{Err: err}
	}
	if s.isAnother(now) {
		s.rollBack(ctx, conn)
		return s.lost(ctx, conn, list, now)
	}
	var verdicts []verdict
	for _, t := range list {
		verdicts = append(verdicts, p.decide(t, now.stamp()))
	}
	if p.isIdle() {
		s.rollBack(ctx, conn)
		if err := s.Dialect.Kept(conn); err != nil {
			return nil, groups.Unsent{Err: err}
		}
		return verdicts, nil
	}
	if err := s.write(ctx, conn, s.Texts.writing(p)); err != nil {
		s.rollBack(ctx, conn)
		return nil, err
	}
	return verdicts, s.Dialect.Kept(conn)
}

// write makes statements, and commits.
func (s *Store) write(ctx context.Context, conn *sql.Conn, list []statement) error {
	if s.Answered == nil {
		for _, one := range list {
			if _, err := conn.ExecContext(ctx, one.text, one.args...); err != nil {
				return groups.Unsent{Err: err}
			}
		}
		_, err := conn.ExecContext(ctx, "COMMIT")
		return err
	}
	// The row in between tells whether an error is from COMMIT.
	all := joined(append(list, statement{text: "SELECT 1"}, statement{text: "COMMIT"}))
	rows, err := conn.QueryContext(ctx, all.text, all.args...)
	if err != nil && s.Answered(err) {
		err = groups.Unsent{Err: err}
	}
	if err != nil {
		return err
	}
	rows.NextResultSet() // there is none: it reads the answer to COMMIT
	return errors.Join(rows.Err(), rows.Close())
}

// lost begins another incarnation, in which all transactions lose.
func (s *Store) lost(ctx context.Context, conn *sql.Conn, list []transaction, now sight) ([]verdict, error) {
	if _, err := s.follow(ctx, conn, now); err != nil {
		return nil, groups.Unsent{Err: err}
	}
	return slices.Repeat([]verdict{{decided: true, Outcome: kv.Outcome{Stamp: now.stamp()}}}, len(list)), nil
}

// rollBack ends a transaction, and the connection too if that is not certain.
func (s *Store) rollBack(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.Timeout, time.Second))
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		discard(conn)
	}
}
