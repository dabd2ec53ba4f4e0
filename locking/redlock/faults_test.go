package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// five are five redis-servers, each behind a proxy.
type five struct {
	*cluster
	servers []*redistest.Server
	proxies []*proxytest.Proxy

	mu   sync.Mutex
	down func(node int) // if set, called when a node is found down
}

func newFive(t *testing.T) *five {
	t.Helper()
	f := &five{servers: redistest.StartN(t, 5)}
	var urls []string
	for _, s := range f.servers {
		p := proxytest.New(t, s.Addr())
		f.proxies = append(f.proxies, p)
		urls = append(urls, s.URLVia(p.Addr()))
	}
	f.cluster = newCluster(t, urls, func(cfg *membership.Config) {
		cfg.Timeout = time.Second // only silent nodes take it: a busy machine is not one
		cfg.Observer.Down = func(node string, _ error) { f.noticed(node) }
	})
	return f
}

func (f *five) noticed(node string) {
	f.mu.Lock()
	down := f.down
	f.mu.Unlock()
	if down == nil {
		return
	}
	down(slices.IndexFunc(f.proxies, func(p *proxytest.Proxy) bool { return p.Addr() == node }))
}

func (f *five) onDown(do func(node int)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = do
}

// locks returns the servers' lock of the job: the attempts' values.
func (f *five) locks(t *testing.T) []string {
	t.Helper()
	var owners []string
	for _, s := range f.servers {
		if v, err := s.Client().Get(t.Context(), "{quorate}:job:job:lock").Result(); err == nil {
			owners = append(owners, v)
		}
	}
	return owners
}

// noLocks reports whether the job has no locks. After a quorum has answered, the other
// nodes may lag.
func (f *five) noLocks(t *testing.T) func() bool {
	t.Helper()
	return func() bool { return len(f.locks(t)) == 0 }
}

// starts counts the servers with an open claim of the job's schedule, and voided those
// where it is void.
func (f *five) starts(t *testing.T) int { t.Helper(); return f.claims(t, "-") }

func (f *five) voided(t *testing.T) int { t.Helper(); return f.claims(t, "V") }

func (f *five) claims(t *testing.T, state string) int {
	t.Helper()
	n := 0
	for _, s := range f.servers {
		if strings.HasPrefix(s.Client().Get(t.Context(), "{quorate}:job:job:claim.schedule").Val(), state) {
			n++
		}
	}
	return n
}

// eventually asks until ok, a bounded number of times.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1500 {
		if ok() {
			return
		}
		retry.Sleep(t.Context(), 20*time.Millisecond)
	}
	t.Fatalf("never came true: %s", what)
}

// mustAcquire claims while the first gone nodes are away.
func (f *five) mustAcquire(t *testing.T, l *Locker, req locking.Request, gone int) locking.Lease {
	t.Helper()
	var lease locking.Lease
	f.insist(t, "TryAcquire", gone, func() (err error) {
		lease, err = l.TryAcquire(t.Context(), req)
		return err
	})
	return lease
}

// insist asks again after a refusal that names a node that is not gone: a busy machine made
// it answer too late. That attempt may block others until it is cleaned up.
func (f *five) insist(t *testing.T, what string, gone int, ask func() error) {
	t.Helper()
	late := false
	eventually(t, what+" is granted once nodes that are up answer in time", func() bool {
		err := ask()
		if err == nil {
			return true
		}
		for _, p := range f.proxies[gone:] {
			late = late || strings.Contains(err.Error(), p.Addr()+": ")
		}
		if !late {
			t.Fatalf("%s with %d of five gone = %v", what, gone, err)
		}
		return false
	})
}

// spoilers disable a node, each in its way, and restore it.
var spoilers = map[string]struct{ spoil, mend func(f *five, node int) }{
	"frozen": {
		func(f *five, n int) { f.servers[n].Freeze() },
		func(f *five, n int) { f.servers[n].Thaw() },
	},
	"black hole": {
		func(f *five, n int) { f.proxies[n].BlackHole() },
		func(f *five, n int) { f.proxies[n].Pass() },
	},
	"replies lost": {
		func(f *five, n int) { f.proxies[n].DropReplies("") },
		func(f *five, n int) { f.proxies[n].Pass() },
	},
	"connections cut": {
		func(f *five, n int) { f.proxies[n].CutReplies("") },
		func(f *five, n int) { f.proxies[n].Pass() },
	},
	"replies cut in the middle": {
		func(f *five, n int) { f.proxies[n].ChopReplies("") },
		func(f *five, n int) { f.proxies[n].Pass() },
	},
}

// A silent minority costs only its votes, for any request. A silent majority is reported as
// such, never as another's lock, and leaves nothing behind.
func TestNodesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for name, s := range spoilers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFive(t)
			l, other := f.locker(t), f.locker(t)
			mustRelease(t, f.mustAcquire(t, l, f.request(past(0)), 0)) // connections and scripts are in place

			s.spoil(f, 0)
			lease := f.mustAcquire(t, l, f.request(past(1)), 1)
			s.spoil(f, 1)
			f.insist(t, "Extend", 2, func() error { return lease.Extend(t.Context()) })
			mustRelease(t, lease)
			mustRelease(t, f.mustAcquire(t, l, direct(f.request(past(2))), 2))

			s.spoil(f, 2)
			for _, ask := range []struct {
				of  *Locker
				req locking.Request
			}{{l, f.request(past(3))}, {other, direct(f.request(past(3)))}} {
				_, err := ask.of.TryAcquire(t.Context(), ask.req)
				if !errors.Is(err, locking.ErrNoQuorum) {
					t.Errorf("TryAcquire with three of five gone = %v, want %v", err, locking.ErrNoQuorum)
				}
			}
			for n := range 3 {
				s.mend(f, n)
			}
			// The silent node may take the request late: the lease of 30 s must not end the
			// wait.
			eventually(t, "the tick is free", func() bool {
				lease, err := other.TryAcquire(t.Context(), f.request(past(3)))
				if err == nil {
					mustRelease(t, lease)
				}
				return err == nil
			})
			eventually(t, "no lock is left", f.noLocks(t))
		})
	}
}

// A node behind a firewall that drops packets: dialling never ends.
func TestNodeThatCannotBeDialled(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	c := newCluster(t, redistest.URLs(servers), nil)
	hole := servers[0].Addr()
	c.cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == hole {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	l := c.locker(t)
	lease := mustAcquire(t, l, c.request(past(1)))
	if err := lease.Extend(t.Context()); err != nil {
		t.Errorf("Extend = %v", err)
	}
	mustRelease(t, lease)
	if got := lease.Claim().Votes; got.For != 2 || got.Of != 3 {
		t.Errorf("Votes = %v, want 2 of 3", got)
	}
}

// The replies to COMMIT are lost on a majority, once: asked again, the nodes confirm.
func TestLostRepliesToCommit(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	mustRelease(t, mustAcquire(t, l, f.request(past(0))))
	f.onDown(func(node int) { f.proxies[node].Pass() })
	for n, req := range []locking.Request{f.request(past(1)), direct(f.request(past(2)))} {
		for _, p := range f.proxies[:3] {
			p.CutReplies("the+holder") // COMMIT names it
		}
		lease := mustAcquire(t, l, req)
		if got := f.starts(t); got < 3 {
			t.Errorf("%d nodes have claim %d, want a quorum", got, n+1)
		}
		mustRelease(t, lease)
		eventually(t, "no claim is left", func() bool { return f.starts(t) == 0 })
	}
}

// The replies to COMMIT stay lost: the attempt is void, its tick free again,
// and no reader takes it for a run.
func TestCommitGivenUp(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l, other := f.locker(t), f.locker(t)
	mustRelease(t, mustAcquire(t, l, f.request(past(0))))
	eventually(t, "the last nodes hear of the release", f.noLocks(t))
	for _, p := range f.proxies[:3] {
		p.DropReplies("the+holder")
	}
	_, err := l.TryAcquire(t.Context(), f.request(past(1)))
	if !errors.Is(err, locking.ErrNoQuorum) {
		t.Fatalf("TryAcquire = %v, want %v", err, locking.ErrNoQuorum)
	}
	for _, p := range f.proxies {
		p.Pass()
	}
	eventually(t, "no claim is left", func() bool { return f.starts(t) == 0 && len(f.locks(t)) == 0 })
	voided := f.voided(t)
	req := f.request(past(1))
	req.Holder = "somebody else"
	lease := mustAcquire(t, other, req)
	// A busy machine may have ended the first attempt before it came to COMMIT.
	if got := lease.Claim().Attempt; got != 2 && voided >= 3 {
		t.Errorf("attempt %d, want 2", got)
	}
	mustRelease(t, lease)
}

// redsync leaves locks behind when the context ends within an attempt.
func TestCancelledContextLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	mustRelease(t, mustAcquire(t, l, f.request(past(0))))
	for _, p := range f.proxies {
		p.Delay(5 * time.Millisecond)
	}
	cancelled := 0
	for n := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%13)*time.Millisecond)
		lease, err := l.TryAcquire(ctx, f.request(past(n+1)))
		cancel()
		if err == nil {
			mustRelease(t, lease)
			continue
		}
		cancelled++
		var why *locking.AcquireError
		if !errors.As(err, &why) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("TryAcquire = %v, want an *AcquireError joined with the context's", err)
		}
		eventually(t, fmt.Sprintf("attempt %d has left no lock", n), f.noLocks(t))
	}
	if cancelled < 10 {
		t.Errorf("only %d attempts were cancelled: the test shows nothing", cancelled)
	}
}

// A frozen node runs its requests when it thaws.
func TestThawedNodeIsCleanedUp(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	mustRelease(t, mustAcquire(t, l, f.request(past(0))))
	eventually(t, "the last nodes hear of the release", f.noLocks(t))
	for n := range 3 {
		f.servers[n].Freeze()
	}
	if _, err := l.TryAcquire(t.Context(), f.request(past(1))); !errors.Is(err, locking.ErrNoQuorum) {
		t.Fatalf("TryAcquire = %v, want %v", err, locking.ErrNoQuorum)
	}
	for n := range 3 {
		f.servers[n].Thaw()
	}
	eventually(t, "no lock is left, and tombstones are", func() bool {
		dead := 0
		for _, s := range f.servers[:3] {
			dead += len(s.Client().Keys(t.Context(), "{quorate}:dead:*").Val())
		}
		return dead == 3 && len(f.locks(t)) == 0
	})
}

// Release repeats until a quorum knows.
func TestReleaseIsRepeated(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	lease := mustAcquire(t, l, f.request(past(1)))
	f.onDown(func(node int) { f.servers[node].Thaw() })
	for n := range 3 {
		f.servers[n].Freeze()
	}
	mustRelease(t, lease)
	if _, err := l.TryAcquire(t.Context(), f.request(past(1))); !errors.Is(err, locking.ErrDone) {
		t.Errorf("TryAcquire of a released tick = %v, want %v", err, locking.ErrDone)
	}
}

// With a majority gone, Release ends with its context and reports that; the tick stays
// claimed.
func TestReleaseWithoutQuorum(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	lease := mustAcquire(t, l, f.request(past(1)))
	for n := range 3 {
		f.proxies[n].BlackHole()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := lease.Release(ctx, nil)
	if !errors.Is(err, locking.ErrNoQuorum) || !errors.Is(err, context.Canceled) || errors.Is(err, locking.ErrLeaseLost) {
		t.Errorf("Release = %v, want %v joined with %v", err, locking.ErrNoQuorum, context.Canceled)
	}
	for n := range 3 {
		f.proxies[n].Pass()
	}
	mustRelease(t, lease) // may be asked again
}

// A failed extension leaves the deadline, and may be tried again; a final failure is
// reported as such.
func TestExtendWithoutQuorum(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	lease := mustAcquire(t, f.locker(t), f.request(past(1)))
	end := lease.Deadline()
	for n := range 3 {
		f.servers[n].Freeze()
	}
	if err := lease.Extend(t.Context()); !errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrLeaseLost) {
		t.Errorf("Extend with three of five frozen = %v, want %v", err, locking.ErrNoQuorum)
	}
	if got := lease.Deadline(); !got.Equal(end) {
		t.Errorf("the deadline moved from %v to %v", end, got)
	}
	for n := range 3 {
		f.servers[n].Thaw()
	}
	eventually(t, "the lease is extended", func() bool { return lease.Extend(t.Context()) == nil })
	if got := lease.Deadline(); !got.After(end) {
		t.Errorf("the deadline stayed at %v", end)
	}

	const job = "{quorate}:job:job:"
	for _, s := range f.servers[:3] { // one after the other they forget the claim, and get it again
		s.Client().Del(t.Context(), job+"lock", job+"claim.schedule", job+"fence")
		eventually(t, "all nodes have the lock again", func() bool {
			if err := lease.Extend(t.Context()); errors.Is(err, locking.ErrLeaseLost) {
				t.Fatalf("Extend after one node lost the claim = %v", err)
			}
			return len(f.locks(t)) == len(f.servers)
		})
	}
	for _, s := range f.servers[:3] { // another replica has claimed there since
		s.Client().Del(t.Context(), job+"lock")
		s.Client().Set(t.Context(), job+"fence", fmt.Sprintf("%d another - schedule", lease.Claim().Token+1), 0)
	}
	eventually(t, "a quorum says so", func() bool { return errors.Is(lease.Extend(t.Context()), locking.ErrLeaseLost) })
}

// Nodes that restarted, with or without their data, vouch for nothing before
// the grace is over.
func TestRestartedNodes(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	mustRelease(t, mustAcquire(t, l, f.request(past(0))))
	f.servers[0].Restart(true)
	f.servers[1].Restart(false)
	lease := mustAcquire(t, l, f.request(past(1)))
	if got := lease.Claim().Votes.For; got != 3 {
		t.Errorf("%d nodes voted, want 3", got)
	}
	mustRelease(t, lease)

	f.servers[2].Restart(true)
	eventually(t, "three nodes abstain", func() bool {
		_, err := l.TryAcquire(t.Context(), f.request(past(2)))
		return errors.Is(err, locking.ErrUnvouched)
	})
	// A plain lock can be had again, so it is not called lost.
	_, err := l.TryAcquire(t.Context(), f.request(time.Time{}))
	if !errors.Is(err, locking.ErrNoQuorum) || strings.Count(err.Error(), "votes only on ticks after") != 3 {
		t.Errorf("TryAcquire of a plain lock = %v, want three nodes to abstain", err)
	}
}
