package view

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// Locks are those of a store, as an operator sees them.
type Locks interface {
	// Holders lists who holds which lock.
	Holders(ctx context.Context) ([]locking.Holding, error)
	// Evict takes the lock of a job, or a plain one, from its holder. Token 0 stands for
	// the only holder. The errors are locking.ErrNotHeld, ErrSeveral and ErrReason.
	Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error)
	// ForgetLock drops what is stored under the name of a job or of a plain lock. The error
	// is locking.ErrTaken while it is held, and locking.ErrUnknownName if nothing is stored.
	ForgetLock(ctx context.Context, name string) error
}

// Evict takes a lock from its holder. The error is ErrNotFound if nobody holds it.
func Evict(ctx context.Context, l Locks, name string, token locking.Token, reason string) (locking.Holding, error) {
	h, err := l.Evict(ctx, name, token, reason)
	if errors.Is(err, locking.ErrNotHeld) {
		err = fmt.Errorf("%w: %w; quorate locks lists what is held", ErrNotFound, err)
	}
	return h, err
}

// EvictFrom is the Evict of a [Control].
func EvictFrom(l Locks) func(ctx context.Context, name string, token locking.Token, reason string) (Lock, error) {
	return func(ctx context.Context, name string, token locking.Token, reason string) (Lock, error) {
		h, err := Evict(ctx, l, name, token, reason)
		switch {
		case errors.Is(err, locking.ErrSeveral):
			err = &InvalidError{Msg: err.Error() + ", with its token"}
		case errors.Is(err, locking.ErrReason):
			err = &InvalidError{Msg: err.Error()}
		}
		return lockRow(h), err
	}
}

// Forget drops what is stored of a job, with the slots of its backfills, or of a plain
// lock. The error is that of Locks.ForgetLock.
func Forget(ctx context.Context, l Locks, key string) error {
	err := l.ForgetLock(ctx, key)
	if err != nil && !errors.Is(err, locking.ErrUnknownName) {
		return err
	}
	if failed := forgetSlots(ctx, l, key); failed != nil {
		return failed
	}
	return err
}

// forgetSlots asks for all of them at once, so that they share requests.
func forgetSlots(ctx context.Context, l Locks, key string) error {
	names := scheduler.BackfillSlots(key)
	errs := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() {
			if err := l.ForgetLock(ctx, name); !errors.Is(err, locking.ErrUnknownName) {
				errs[i] = err
			}
		})
	}
	asking.Wait()
	return errors.Join(errs...)
}

// ForgetJob returns the Forget of scheduler.Stores: nothing stored is no error.
func ForgetJob(l Locks) func(ctx context.Context, key string) error {
	return func(ctx context.Context, key string) error {
		if err := Forget(ctx, l, key); !errors.Is(err, locking.ErrUnknownName) {
			return err
		}
		return nil
	}
}

// LockRows lists what is held.
func LockRows(held []locking.Holding) []Lock {
	var rows []Lock
	for _, h := range held {
		rows = append(rows, lockRow(h))
	}
	return rows
}

func lockRow(h locking.Holding) Lock {
	row := Lock{
		Job: h.Name, State: lockState(h), Holder: Optional(h.Holder), Tick: Stamp(h.Tick), Token: Optional(h.Token),
		Attempt: Optional(h.Attempt), Since: Stamp(h.Since), Nodes: fmt.Sprintf("%d/%d", h.On.For, h.On.Of),
		Done: h.Done, Void: h.Void, Beside: h.Beside,
	}
	if !h.Tick.IsZero() {
		row.Stream = Optional(h.Stream)
		row.OnCrash = Optional(map[locking.Mode]string{locking.AtMostOnce: "skip", locking.AtLeastOnce: "rerun"}[h.Mode])
	}
	if h.Left != locking.Endless {
		left := h.Left.Milliseconds()
		row.LeftMillis = &left
	}
	return row
}

func lockState(h locking.Holding) string {
	switch {
	case h.On.For == 0:
		return "unfinished"
	case !h.Held():
		return "partial"
	case !h.Known():
		return "unknown"
	}
	return "held"
}
