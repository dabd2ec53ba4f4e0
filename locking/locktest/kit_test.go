package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/locking"
)

// recorder takes a check's complaints instead of failing the test.
type recorder struct {
	testing.TB
	mu         sync.Mutex
	complaints []string
}

func (r *recorder) complain(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, text)
}

func (r *recorder) Helper()                   {}
func (r *recorder) Error(args ...any)         { r.complain(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.complain(fmt.Sprintf(f, a...)) }

func (r *recorder) Fatalf(f string, a ...any) {
	r.complain(fmt.Sprintf(f, a...))
	panic(r) // unwinds the check; find recovers it
}

// find runs the check against the locker and returns its complaints.
func find(t *testing.T, c check, l locking.Locker) []string {
	t.Helper()
	rec := &recorder{TB: t}
	b := memoryBackend()
	b.New = func(testing.TB) func(string) locking.Locker {
		return func(string) locking.Locker { return l }
	}
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p := recover(); p != nil && p != any(rec) {
				panic(p)
			}
		}()
		rec.TB = t
		c.run(newBench(rec, b.withDefaults()))
	})
	return rec.complaints
}

// mutant is a Memory with a fault planted.
type mutant struct {
	*Memory
	ask   func(*locking.Request)
	deny  func(*Memory, locking.Request, *locking.AcquireError) (locking.Lease, error)
	grant func(*oddLease)
	look  func(*Memory, locking.Request, error) error
}

func (m mutant) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if m.ask != nil {
		m.ask(&req)
	}
	lease, err := m.Memory.TryAcquire(ctx, req)
	var why *locking.AcquireError
	if errors.As(err, &why) && m.deny != nil {
		return m.deny(m.Memory, req, why)
	}
	if err != nil || m.grant == nil {
		return lease, err
	}
	odd := &oddLease{memoryLease: lease.(*memoryLease)}
	m.grant(odd)
	return odd, nil
}

// oddLease is a lease with some methods replaced.
type oddLease struct {
	*memoryLease
	claim    func() locking.Claim
	deadline func() time.Time
	extend   func(context.Context) error
	release  func(context.Context, []byte) error
	handOver func(context.Context, []byte) error
	void     func(context.Context) error
}

func (l *oddLease) Claim() locking.Claim {
	if l.claim != nil {
		return l.claim()
	}
	return l.memoryLease.Claim()
}

func (l *oddLease) Deadline() time.Time {
	if l.deadline != nil {
		return l.deadline()
	}
	return l.memoryLease.Deadline()
}

func (l *oddLease) Extend(ctx context.Context) error {
	if l.extend != nil {
		return l.extend(ctx)
	}
	return l.memoryLease.Extend(ctx)
}

func (l *oddLease) Release(ctx context.Context, note []byte) error {
	if l.release != nil {
		return l.release(ctx, note)
	}
	return l.memoryLease.Release(ctx, note)
}

func (l *oddLease) HandOver(ctx context.Context, note []byte) error {
	if l.handOver != nil {
		return l.handOver(ctx, note)
	}
	return l.memoryLease.HandOver(ctx, note)
}

func (l *oddLease) Void(ctx context.Context) error {
	if l.void != nil {
		return l.void(ctx)
	}
	return l.memoryLease.Void(ctx)
}

// spoil frees the lock and changes the claim, whose ever they are.
func (l *oddLease) spoil(claim func(*protocol.Claim)) error {
	s := &l.of.state
	s.Lock, s.Open = protocol.Lease{}, ""
	if c, ok := s.Streams[l.req.InStream()]; ok {
		claim(&c)
		s.Streams[l.req.InStream()] = c
	}
	return nil
}

// grantAnyway makes a refused attempt succeed by forgetting its obstacle.
func grantAnyway(m *Memory, req locking.Request, forget func(*protocol.State)) (locking.Lease, error) {
	m.mu.Lock()
	forget(&m.name(req.Name).state)
	m.mu.Unlock()
	return m.TryAcquire(context.Background(), req)
}

// grantOn makes attempts that are refused for the reason succeed.
func grantOn(reason error) mutant {
	return mutant{deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
		if !errors.Is(why, reason) {
			return nil, why
		}
		return grantAnyway(m, req, func(s *protocol.State) {
			s.Lock = protocol.Lease{}
			delete(s.Streams, req.InStream())
		})
	}}
}

// TestKitFindsFaults plants faults into a Locker that is otherwise sound, and
// wants each found by the check that guards the promise it breaks, and each
// check to find one.
func TestKitFindsFaults(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			for _, name := range f.foundBy {
				i := slices.IndexFunc(checks(), func(c check) bool { return c.name == name })
				if i < 0 {
					t.Fatalf("there is no check %s", name)
				}
				m := f.mutant
				m.Memory = new(Memory)
				if complaints := find(t, checks()[i], m); len(complaints) == 0 {
					t.Errorf("check %s does not see the fault", name)
				} else {
					t.Logf("%s: %s", name, complaints[0])
				}
				found[name] = true
			}
		})
	}
	for _, c := range checks() {
		if !found[c.name] {
			t.Errorf("no fault shows that check %s can fail", c.name)
		}
	}
}

type fault struct {
	name    string
	mutant  mutant
	foundBy []string
}

func faults() []fault {
	return slices.Concat(attemptFaults(), tickFaults(), leaseFaults(), lockFaults(), besideFaults(), watchFaults())
}

func attemptFaults() []fault {
	return []fault{
		{"token does not grow", mutant{grant: func(l *oddLease) {
			c := l.memoryLease.Claim()
			c.Token = 7
			l.claim = func() locking.Claim { return c }
		}}, []string{"TokensGrow", "TokensGrowAcrossExpiry", "OneOfManyClaims"}},
		{"claim without its tick", mutant{grant: func(l *oddLease) {
			c := l.memoryLease.Claim()
			c.Tick = time.Time{}
			l.claim = func() locking.Claim { return c }
		}}, []string{"ClaimSaysWhatWasGranted"}},
		{"minority of votes", mutant{grant: func(l *oddLease) {
			c := l.memoryLease.Claim()
			c.Votes = locking.Votes{For: 2, Of: 5}
			l.claim = func() locking.Claim { return c }
		}}, []string{"ClaimSaysWhatWasGranted"}},
		{"deadline too late", mutant{grant: func(l *oddLease) {
			l.deadline = func() time.Time { return l.memoryLease.Deadline().Add(time.Second) }
		}}, []string{"ClaimSaysWhatWasGranted", "HeldLockIsTaken"}},
		{"holder not named", mutant{ask: func(r *locking.Request) { r.Holder = "" }}, []string{"HeldLockIsTaken"}},
		{"held lock is granted", grantOn(locking.ErrTaken), []string{
			"HeldLockIsTaken", "NamesAreIndependent", "PlainLockExcludes",
		}},
		{"refused attempt keeps the lock", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				req.Tick = time.Time{}
				_, _ = m.TryAcquire(context.Background(), req)
				return nil, why
			},
		}, []string{"RefusedAttemptLeavesNothing"}},
		{"cancelled attempt keeps the lock", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				_, _ = m.TryAcquire(context.Background(), req)
				return nil, errors.Join(why, context.Canceled)
			},
		}, []string{"CancelledAttemptLeavesNothing"}},
		{"all names are one", mutant{ask: func(r *locking.Request) { r.Name = lockName }}, []string{"NamesAreIndependent"}},
	}
}

func tickFaults() []fault {
	asked := 0
	return []fault{
		{"the first refusal names another cause", mutant{
			deny: func(_ *Memory, _ locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if asked++; asked == 1 {
					why.Reason = locking.ErrTaken
				}
				return nil, why
			},
		}, []string{"ReleasedTickIsDone"}},
		{"done tick is granted", grantOn(locking.ErrDone), []string{"ReleasedTickIsDone", "VoidAfterReleaseChangesNothing"}},
		{"earlier tick is granted", grantOn(locking.ErrSuperseded), []string{"LaterTickClosesEarlier", "VoidKeepsEarlierTicksClosed"}},
		{"claimed tick is granted", grantOn(locking.ErrClaimed), []string{"AtMostOnceOutlivesTheLease", "StricterModeCounts", "OneOfManyClaims"}},
		{"tick is never claimed again", mutant{ask: func(r *locking.Request) { r.Mode = locking.AtMostOnce }}, []string{"AtLeastOnceIsClaimedAgain"}},
		{"handover closes the tick", mutant{grant: func(l *oddLease) { l.handOver = l.memoryLease.Release }}, []string{"HandedOverIsClaimedAgain"}},
		{"handover frees the tick", mutant{grant: func(l *oddLease) {
			l.handOver = func(ctx context.Context, _ []byte) error { return l.memoryLease.Void(ctx) }
		}}, []string{"HandedOverIsNotFree"}},
		{"void closes the tick", mutant{grant: func(l *oddLease) {
			l.void = func(ctx context.Context) error { return l.memoryLease.Release(ctx, nil) }
		}}, []string{"VoidedTickIsFree"}},
		{"void touches the claim of the next", mutant{grant: func(l *oddLease) {
			l.void = func(context.Context) error {
				l.ended = true
				return l.spoil(func(c *protocol.Claim) { c.Void, c.Ended = true, "" })
			}
		}}, []string{"VoidedTickIsFree", "VoidAfterReleaseChangesNothing"}},
		{"void forgets the tick", mutant{grant: func(l *oddLease) {
			l.void = func(context.Context) error {
				l.of.state.Lock = protocol.Lease{}
				delete(l.of.state.Streams, l.req.InStream())
				return nil
			}
		}}, []string{"VoidKeepsEarlierTicksClosed"}},
		{"streams are one", mutant{ask: func(r *locking.Request) { r.Stream = "" }}, []string{"StreamsAreApart", "StreamIsNamedWell"}},
		{"streams have locks of their own", mutant{
			deny: func(m *Memory, req locking.Request, why *locking.AcquireError) (locking.Lease, error) {
				if !errors.Is(why, locking.ErrTaken) || req.Stream == "" {
					return nil, why
				}
				return grantAnyway(m, req, func(s *protocol.State) { s.Lock = protocol.Lease{} })
			},
		}, []string{"StreamsShareTheLock"}},
		{"streams have tokens of their own", mutant{grant: func(l *oddLease) {
			c := l.memoryLease.Claim()
			if c.Stream != "" {
				c.Token -= 1 << 20
			}
			l.claim = func() locking.Claim { return c }
		}}, []string{"StreamsShareTheTokens"}},
	}
}

func leaseFaults() []fault {
	takeBack := func(l *oddLease) error { // as if no other holder had worked
		l.until = time.Now().Add(l.req.TTL)
		l.of.state.Lock = protocol.Lease{Owner: l.owner, Committed: true, Until: l.until.UnixMilli() - 1}
		return nil
	}
	return []fault{
		{"extension moves nothing", mutant{grant: func(l *oddLease) {
			l.extend = func(context.Context) error { return nil }
		}}, []string{"ExtendMovesTheDeadline", "EndedLeaseIsNotExtended"}},
		{"others do not learn of the extension", mutant{grant: func(l *oddLease) {
			l.extend = func(context.Context) error {
				l.m.mu.Lock()
				defer l.m.mu.Unlock()
				l.until = time.Now().Add(l.req.TTL)
				return nil
			}
		}}, []string{"ExtendMovesTheDeadline", "KeeperOutlivesTheTTL"}},
		{"extension does not mind others", mutant{grant: func(l *oddLease) {
			l.extend = func(context.Context) error { return takeBack(l) }
		}}, []string{
			"ExtendAfterTakeoverIsLost", "ExtendWithoutTimeLeavesTheDeadline",
			"EndedLeaseIsNotExtended", "AtLeastOnceIsClaimedAgain", "PlainLockRunsOut",
		}},
		{"extension takes up what ran out", mutant{grant: func(l *oddLease) {
			l.extend = func(ctx context.Context) error {
				if !l.ended && l.of.state.Fence == uint64(l.memoryLease.claim.Token) {
					return takeBack(l)
				}
				return l.memoryLease.Extend(ctx)
			}
		}}, []string{"ExpiredLeaseIsNotExtended"}},
		{"release frees the lock of the next", mutant{grant: func(l *oddLease) {
			l.release = func(context.Context, []byte) error {
				return l.spoil(func(c *protocol.Claim) { c.Ended = protocol.OK })
			}
		}}, []string{"ReleaseTwice", "ReleaseAfterTakeoverIsLost", "PlainLockRunsOut", "AtLeastOnceIsClaimedAgain"}},
		{"second release fails", mutant{grant: func(l *oddLease) {
			l.release = func(ctx context.Context, note []byte) error {
				if l.ended {
					return locking.ErrLeaseLost
				}
				return l.memoryLease.Release(ctx, note)
			}
		}}, []string{"ReleaseTwice"}},
	}
}
