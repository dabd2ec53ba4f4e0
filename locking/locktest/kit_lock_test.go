package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

// lockFaults break promises to users of plain locks, groups and keepers.
func lockFaults() []fault {
	forever := func(l *oddLease) {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		l.of.state.Lock.Until = time.Now().Add(time.Hour).UnixMilli()
	}
	return []fault{
		{"expired lease is released like any other", mutant{grant: func(l *oddLease) {
			l.release = func(ctx context.Context, note []byte) error {
				if err := l.memoryLease.Release(ctx, note); !errors.Is(err, locking.ErrExpired) {
					return err
				}
				return nil
			}
		}}, []string{"ReleaseAfterExpiry"}},
		{"expired lease is called lost", mutant{grant: func(l *oddLease) {
			l.release = func(ctx context.Context, note []byte) error {
				return errors.Join(l.memoryLease.Release(ctx, note), locking.ErrLeaseLost)
			}
		}}, []string{"ReleaseAfterExpiry"}},
		{"release of nothing succeeds", mutant{grant: func(l *oddLease) {
			l.release = func(ctx context.Context, note []byte) error {
				_ = l.memoryLease.Release(ctx, note)
				return nil
			}
		}}, []string{"ReleaseAfterVoid", "GroupIsLostAsOne"}},
		{"token in the way not named", mutant{
			deny: func(_ *Memory, _ locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				why.HolderToken = 0
				return nil, why
			},
		}, []string{"PlainHolderIsNamed"}},
		{"lease never runs out", mutant{grant: forever}, []string{"AcquireOutwaitsALease"}},
		{"every refusal may pass", mutant{
			deny: func(_ *Memory, _ locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				why.Reason = locking.ErrTaken
				return nil, why
			},
		}, []string{"AcquireGivesUp"}},
		{"second attempt is granted", grantOn(locking.ErrTaken), []string{"AcquireEndsWithItsContext"}},
		{"extension says that all is lost", mutant{grant: func(l *oddLease) {
			l.extend = func(context.Context) error { return locking.ErrLeaseLost }
		}}, []string{"AcquireOrExtendKeepsWhatIsHeld"}},
		{"lost lease is extended", mutant{grant: func(l *oddLease) {
			l.extend = func(context.Context) error { return nil }
		}}, []string{"AcquireOrExtendBeginsAnew", "GroupEndsAsOne", "GroupIsLostAsOne"}},
		{"extension keeps others out for ever", mutant{grant: func(l *oddLease) {
			l.extend = func(ctx context.Context) error {
				defer forever(l)
				return l.memoryLease.Extend(ctx)
			}
		}}, []string{"MaxHoldFreesTheLock"}},
		{"void keeps the lock", mutant{grant: func(l *oddLease) {
			l.void = func(context.Context) error { return nil }
		}}, []string{"GroupIsAllOrNothing", "GroupEndsAsOne"}},
		{"several names are one", mutant{ask: func(r *locking.Request) { r.Name = lockName }}, []string{"GroupsDoNotDeadlock"}},
	}
}
