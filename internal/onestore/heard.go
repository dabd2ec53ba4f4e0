package onestore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store"
)

// heard is a store with a bound on each call. It keeps the stamp of the last answer: while
// calls are answered, nobody has to look at the store besides.
type heard struct {
	store.Server
	timeout time.Duration
	last    atomic.Pointer[answer]
}

// An answer is the stamp of a call.
type answer struct {
	stamp        store.Stamp
	began, ended time.Time
}

// offset is how far the store's clock is ahead of the local one; 0 if it has none.
func (a answer) offset() time.Duration {
	if a.stamp.Now.IsZero() {
		return 0
	}
	return a.stamp.Now.Sub(a.began.Add(a.ended.Sub(a.began) / 2))
}

// promptly is how long an answer may take to tell the clock: the offset is wrong by half of
// that at most.
const promptly = 250 * time.Millisecond

func (h *heard) note(began time.Time, s store.Stamp, err error) {
	if ended := time.Now(); err == nil && ended.Sub(began) <= promptly {
		h.last.Store(&answer{s, began, ended})
	}
}

func (h *heard) Read(ctx context.Context, keys ...store.Key) ([]store.Record, store.Stamp, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	list, s, err := h.Server.Read(ctx, keys...)
	h.note(began, s, err)
	return list, s, err
}

func (h *heard) List(ctx context.Context, ranges ...store.Range) ([][]store.Record, store.Stamp, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	lists, s, err := h.Server.List(ctx, ranges...)
	h.note(began, s, err)
	return lists, s, err
}

func (h *heard) Commit(ctx context.Context, t store.Txn) (store.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	o, err := h.Server.Commit(ctx, t)
	h.note(began, o.Stamp, err)
	return o, err
}

func (h *heard) Check(ctx context.Context) (store.Checkup, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return h.Server.Check(ctx)
}

// Still brings a look up to date if the store has answered since a time, in the same life.
func (c *Cluster) Still(l Look, since time.Time) (Look, bool) {
	last := c.heard.last.Load()
	if last == nil || last.ended.Before(since) || last.stamp.Life != l.Life {
		return l, false
	}
	l.Offset = last.offset()
	return l, true
}
