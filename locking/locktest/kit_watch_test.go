package locktest

import (
	"context"
	"errors"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/locking"
)

// Watch gives the mutant's faults to its watches as well.
func (m mutant) Watch(req locking.Request, start uint64) locking.Watch {
	if m.ask != nil {
		m.ask(&req)
	}
	w := m.Memory.Watch(req, start)
	if m.look == nil {
		return w
	}
	return lookFunc(func(ctx context.Context) error { return m.look(m.Memory, req, w.Look(ctx)) })
}

type lookFunc func(ctx context.Context) error

func (f lookFunc) Look(ctx context.Context) error { return f(ctx) }

// watchFaults are faults of looks and of claims in one round.
func watchFaults() []fault {
	insteadOf := func(said, says error) mutant {
		return mutant{look: func(_ *Memory, _ locking.Request, err error) error {
			if errors.Is(err, said) {
				return says
			}
			return err
		}}
	}
	looked := 0
	return []fault{
		{"the first look names another cause", mutant{look: func(_ *Memory, _ locking.Request, err error) error {
			if looked++; looked == 1 {
				return locking.ErrSuperseded
			}
			return err
		}}, []string{"LookTellsWhatIsFree"}},
		{"a look takes the lock", mutant{look: func(m *Memory, req locking.Request, err error) error {
			_, _ = m.TryAcquire(context.Background(), req)
			return err
		}}, []string{"LookChangesNothing"}},
		{"nothing is ever seen", mutant{look: func(*Memory, locking.Request, error) error { return nil }}, []string{
			"LookChangesNothing", "LookTellsWhoClaimed", "LookTellsWhatIsFree", "LookTellsWhoIsInTheWay",
		}},
		{"claims are hints for ever", insteadOf(locking.ErrClaimed, locking.ErrTaken), []string{"LookTellsWhoClaimed"}},
		{"a lock that is held is a claim", insteadOf(locking.ErrTaken, locking.ErrClaimed), []string{
			"LookTellsWhatIsFree", "LookTellsWhoIsInTheWay",
		}},
		{"a void claim stands", mutant{look: func(m *Memory, req locking.Request, err error) error {
			last := m.name(req.Name).state.Streams[req.InStream()]
			if last.Void && last.Tick == req.Tick.UnixMilli() {
				return locking.ErrClaimed
			}
			return err
		}}, []string{"LookTellsWhatIsFree"}},
		{"overlapping runs block one another", mutant{look: func(m *Memory, req locking.Request, _ error) error {
			req.Beside = false
			return m.Watch(req, 0).Look(context.Background())
		}}, []string{"LookTellsWhoIsInTheWay"}},
		{"direct claims go over all others", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if !req.Direct {
					return nil, why
				}
				return grantAnyway(m, req, func(s *protocol.State) {
					s.Lock = protocol.Lease{}
					delete(s.Streams, req.InStream())
				})
			},
		}, []string{"DirectClaimIsAClaim"}},
	}
}
