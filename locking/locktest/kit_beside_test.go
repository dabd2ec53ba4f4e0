package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

// besideFaults are those of leases that last beside others.
func besideFaults() []fault {
	return []fault{
		{"nobody runs beside others", mutant{ask: func(r *locking.Request) { r.Beside = false }}, []string{
			"TicksRunBesideOneAnother", "PlainLocksAreHeldByOne",
		}},
		{"a later claim ends what runs beside it", mutant{grant: func(l *oddLease) {
			l.extend = func(ctx context.Context) error {
				if !l.last() {
					return locking.ErrLeaseLost
				}
				return l.memoryLease.Extend(ctx)
			}
		}}, []string{"TicksRunBesideOneAnother"}},
		{"a later claim opens the tick", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if !req.Beside || !errors.Is(why, locking.ErrSuperseded) {
					return nil, why
				}
				return grantAnyway(m, req, func(s *lockState) { delete(s.ticks, req.InStream()) })
			},
		}, []string{"OneRunPerTickBesideOthers", "TicksRunBesideOneAnother"}},
		{"the lock does not mind shares", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if req.Beside || !errors.Is(why, locking.ErrTaken) {
					return nil, why
				}
				return grantAnyway(m, req, func(s *lockState) { s.shares = nil })
			},
		}, []string{"LockWaitsForAllShares"}},
		{"shares do not mind the lock", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if !req.Beside || !errors.Is(why, locking.ErrTaken) {
					return nil, why
				}
				return grantAnyway(m, req, func(s *lockState) { s.lock = lockHold{} })
			},
		}, []string{"LockWaitsForAllShares"}},
		{"a share comes back", mutant{grant: func(l *oddLease) {
			l.extend = func(context.Context) error {
				l.until = time.Now().Add(l.req.TTL)
				l.hold()
				return nil
			}
		}}, []string{"ShareThatRanOutIsLost", "EndedShareIsNotExtended"}},
	}
}
