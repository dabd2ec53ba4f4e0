package redlock

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// TestForget: a job that comes back under its old name runs no old tick, and
// its tokens go on growing.
func TestForget(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l, set := f.locker(t), f.open(t)
	cannotForget(t, set, locking.ErrUnknownName)
	lease := acquireSoon(t, l, f.request(past(1)))
	cannotForget(t, set, locking.ErrTaken)
	mustRelease(t, lease)
	f.forget(t, set)
	eventually(t, "the forgotten tick is refused for good", func() bool {
		_, err := l.TryAcquire(t.Context(), f.request(past(1)))
		if err == nil {
			t.Fatal("a forgotten tick was granted again")
		}
		// A node that was not reached may remember that it is done.
		return errors.Is(err, locking.ErrSuperseded) || errors.Is(err, locking.ErrDone)
	})
	next := acquireSoon(t, l, f.request(past(2)))
	if next.Claim().Token <= lease.Claim().Token {
		t.Errorf("token %d after %d was forgotten", next.Claim().Token, lease.Claim().Token)
	}
	mustRelease(t, next)
}

// forget forgets the job. A release returns before every node knows it, and a node with the
// lock refuses to forget.
func (f *five) forget(t *testing.T, set *membership.Set) {
	t.Helper()
	eventually(t, "the job is forgotten", func() bool {
		err := Forget(t.Context(), set, "job")
		if err != nil && !errors.Is(err, locking.ErrTaken) && !errors.Is(err, locking.ErrNoQuorum) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// cannotForget wants the job not to be forgotten, for the given reason.
func cannotForget(t *testing.T, set *membership.Set, want error) {
	t.Helper()
	eventually(t, "a quorum refuses to forget", func() bool {
		err := Forget(t.Context(), set, "job")
		if !errors.Is(err, want) && !errors.Is(err, locking.ErrNoQuorum) {
			t.Fatalf("Forget = %v, want %v", err, want)
		}
		return errors.Is(err, want)
	})
}

// TestForgetAtAQuorum: nodes that kept the claim do not disturb the job's return, and
// cannot make a forgotten tick run.
func TestForgetAtAQuorum(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	lease := acquireSoon(t, l, f.request(past(1)))
	mustRelease(t, lease)
	f.proxies[0].BlackHole()
	f.proxies[1].BlackHole()
	f.forget(t, f.open(t))
	f.proxies[2].BlackHole()
	if err := Forget(t.Context(), f.open(t), "job"); !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("Forget without a quorum = %v", err)
	}
	for n := range 3 {
		f.proxies[n].Pass()
	}
	f.proxies[4].BlackHole() // of the rest, two have kept the claim and two have not
	again := f.locker(t)
	eventually(t, "the old tick is known as over", func() bool {
		_, err := again.TryAcquire(t.Context(), f.request(past(1)))
		if err == nil {
			t.Fatal("the old tick was granted again")
		}
		return errors.Is(err, locking.ErrDone)
	})
	next := acquireSoon(t, again, f.request(past(2)))
	if next.Claim().Token <= lease.Claim().Token {
		t.Errorf("token %d after %d was forgotten", next.Claim().Token, lease.Claim().Token)
	}
	mustRelease(t, next)
}

// TestForgetFreesMemory: locks of things that come and go leave nothing behind.
func TestForgetFreesMemory(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	c := newCluster(t, redistest.URLs(servers), nil)
	l, set := c.locker(t), c.open(t)
	const things = 60
	var last locking.Token
	for i := range things {
		req := c.request(time.Time{})
		req.Name = fmt.Sprintf("thing-%d", i)
		if i%2 == 1 {
			req.Tick = past(i)
		}
		lease := acquireSoon(t, l, req)
		last = max(last, lease.Claim().Token)
		mustRelease(t, lease)
	}
	if n := len(jobKeys(t, servers)); n < 2*things {
		t.Errorf("the nodes keep %d keys of %d names: the test shows nothing", n, things)
	}
	eventually(t, "the nodes keep nothing of any name", func() bool {
		left := jobKeys(t, servers)
		for _, key := range left {
			_ = Forget(t.Context(), set, strings.Split(key, ":")[2]) // asked again if it failed
		}
		return len(left) == 0
	})
	lease := acquireSoon(t, l, c.request(time.Time{}))
	if lease.Claim().Token <= last {
		t.Errorf("token %d of a name that was never used, after %d was forgotten", lease.Claim().Token, last)
	}
	mustRelease(t, lease)
}

// jobKeys lists the nodes' keys of all names, once for each node.
func jobKeys(t *testing.T, servers []*redistest.Server) []string {
	t.Helper()
	var all []string
	for _, s := range servers {
		all = append(all, s.Client().Keys(t.Context(), "{quorate}:job:*").Val()...)
	}
	return all
}
