package single

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// heard is a store with a bound on each call. It keeps the stamp of the last answer, and when
// it last took a write: while calls are answered, nobody has to look at the store besides.
type heard struct {
	kv.Server
	timeout time.Duration
	last    atomic.Pointer[answer]
	wrote   atomic.Pointer[time.Time] // nil: never, or a later write has failed
}

// An answer is the stamp of a call.
type answer struct {
	stamp        kv.Stamp
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

func (h *heard) note(began time.Time, s kv.Stamp, err error) {
	if ended := time.Now(); err == nil && ended.Sub(began) <= promptly {
		h.last.Store(&answer{s, began, ended})
	}
}

func (h *heard) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	list, s, err := h.Server.Read(ctx, keys...)
	h.note(began, s, err)
	return list, s, err
}

func (h *heard) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	lists, s, err := h.Server.List(ctx, ranges...)
	h.note(began, s, err)
	return lists, s, err
}

func (h *heard) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	began := time.Now()
	o, err := h.Server.Commit(ctx, t)
	h.note(began, o.Stamp, err)
	switch {
	case err == nil && o.Won && len(t.Put) > 0: // a store that is full may still delete
		now := time.Now()
		h.wrote.Store(&now)
	case err != nil && !errors.Is(err, kv.ErrLocked) && !errors.Is(err, kv.ErrTooLarge):
		h.wrote.Store(nil)
	}
	return o, err
}

func (h *heard) Check(ctx context.Context) (kv.Checkup, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return h.Server.Check(ctx)
}

// Still brings a look up to date if the store has answered lately, in the same life. It must also
// have taken a write within three times as long, and no later write may have failed.
func (c *Cluster) Still(l Look, lately time.Duration) (Look, bool) {
	last, wrote := c.heard.last.Load(), c.heard.wrote.Load()
	if last == nil || time.Since(last.ended) > lately || last.stamp.Life != l.Life || wrote == nil || time.Since(*wrote) > 3*lately {
		return l, false
	}
	l.Offset = last.offset()
	return l, true
}
