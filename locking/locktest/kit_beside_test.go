package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/locking"
)

// besideFaults are faults of concurrent leases.
func besideFaults() []fault {
	return []fault{
		{"nobody runs beside others", mutant{ask: func(r *locking.Request) { r.Beside = false }}, []string{
			"TicksRunBesideOneAnother", "PlainLocksAreHeldByOne",
		}},
		{"a later claim ends what runs beside it", mutant{grant: func(l *oddLease) {
			l.extend = func(ctx context.Context) error {
				if l.of.state.Fence != uint64(l.memoryLease.claim.Token) {
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
				return grantAnyway(m, req, func(s *protocol.State) { delete(s.Streams, req.InStream()) })
			},
		}, []string{"OneRunPerTickBesideOthers", "TicksRunBesideOneAnother"}},
		{"the lock does not wait for overlapping runs", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if req.Beside || !errors.Is(why, locking.ErrTaken) {
					return nil, why
				}
				return grantAnyway(m, req, func(s *protocol.State) { s.TickLocks, s.Marker = nil, 0 })
			},
		}, []string{"LockWaitsForOverlappingRuns"}},
		{"overlapping runs do not wait for the lock", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if !req.Beside || !errors.Is(why, locking.ErrTaken) {
					return nil, why
				}
				return grantAnyway(m, req, func(s *protocol.State) { s.Lock = protocol.Lease{} })
			},
		}, []string{"LockWaitsForOverlappingRuns"}},
		{"an overlapping run comes back", mutant{grant: func(l *oddLease) {
			l.extend = func(context.Context) error {
				l.until = time.Now().Add(l.req.TTL)
				place := protocol.TickKey{Stream: l.req.InStream(), Tick: l.req.Tick.UnixMilli()}
				l.of.state.TickLocks[place] = protocol.Lease{Owner: l.owner, Committed: true, Until: l.until.UnixMilli() - 1}
				return nil
			}
		}}, []string{"OverlappingRunThatRanOutIsLost", "EndedOverlappingRunIsNotExtended"}},
	}
}
