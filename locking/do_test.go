package locking_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

// Do holds the lock during the work, and frees it after any end of the work.
func TestDo(t *testing.T) {
	t.Parallel()
	failed := errors.New("work failed")
	for name, end := range map[string]func() error{
		"work succeeds": func() error { return nil },
		"work fails":    func() error { return failed },
		"work panics":   func() error { panic(failed) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				locks := new(locktest.Memory)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var first locking.Claim
				do := func() (err error) {
					defer func() {
						if v := recover(); v != nil {
							err = v.(error)
						}
					}()
					return locking.Do(ctx, locks, "stock", func(ctx context.Context, claim locking.Claim) error {
						first = claim
						time.Sleep(2 * locking.DefaultTTL)
						_, err := locks.TryAcquire(ctx, locking.Request{Name: "stock"})
						if !errors.Is(err, locking.ErrTaken) || ctx.Err() != nil {
							t.Errorf("while it works, another gets %v; the context: %v", err, ctx.Err())
						}
						cancel() // the lock is released all the same
						return end()
					})
				}
				if err := do(); (err != nil) != (name != "work succeeds") || err != nil && !errors.Is(err, failed) {
					t.Errorf("Do = %v", err)
				}
				next, err := locks.TryAcquire(t.Context(), locking.Request{Name: "stock"})
				if err != nil || next.Claim().Token <= first.Token {
					t.Errorf("afterwards: %v, %v", next, err)
				}
			})
		})
	}
}

// No work is done without the lock, and a loss is reported.
func TestDoWithoutTheLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locks := new(locktest.Memory)
		if _, err := locks.TryAcquire(t.Context(), locking.Request{Name: "stock", TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		err := locking.Do(t.Context(), locks, "stock", func(context.Context, locking.Claim) error {
			t.Error("it works without the lock")
			return nil
		})
		if !errors.Is(err, locking.ErrTaken) {
			t.Errorf("Do = %v, want %v", err, locking.ErrTaken)
		}
		lost := losing{locks}
		err = locking.Do(t.Context(), lost, "other", func(ctx context.Context, _ locking.Claim) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Do = %v, want %v", err, locking.ErrLeaseLost)
		}
	})
}

// losing is a Locker whose leases cannot be extended.
type losing struct{ locking.Locker }

func (l losing) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := l.Locker.TryAcquire(ctx, req)
	return unextended{lease}, err
}

type unextended struct{ locking.Lease }

func (unextended) Extend(context.Context) error { return locking.ErrNoQuorum }
