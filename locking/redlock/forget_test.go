package redlock

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// TestForget: a job that comes back under its old name runs no old tick, and
// its tokens go on growing.
func TestForget(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l, set := f.locker(t), f.open(t)
	if err := Forget(t.Context(), set, "job"); !errors.Is(err, ErrUnknownName) {
		t.Errorf("Forget of nothing = %v, want %v", err, ErrUnknownName)
	}
	lease := mustAcquire(t, l, f.request(past(1)))
	if err := Forget(t.Context(), set, "job"); !errors.Is(err, locking.ErrTaken) {
		t.Errorf("Forget of what is held = %v, want %v", err, locking.ErrTaken)
	}
	mustRelease(t, lease)
	f.forget(t, set)
	if _, err := l.TryAcquire(t.Context(), f.request(past(1))); !errors.Is(err, locking.ErrSuperseded) {
		t.Errorf("TryAcquire of a forgotten tick = %v, want %v", err, locking.ErrSuperseded)
	}
	next := mustAcquire(t, l, f.request(past(2)))
	if next.Claim().Token <= lease.Claim().Token {
		t.Errorf("token %d after %d was forgotten", next.Claim().Token, lease.Claim().Token)
	}
	mustRelease(t, next)
}

// forget forgets the job. A release tells its caller before it has told every
// node, and one that still has the lock is not asked to forget.
func (f *five) forget(t *testing.T, set *nodes.Set) {
	t.Helper()
	eventually(t, "the job is forgotten", func() bool {
		err := Forget(t.Context(), set, "job")
		if err != nil && !errors.Is(err, locking.ErrTaken) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestForgetAtAQuorum: nodes that kept the claim do no harm to the job's
// return, and cannot be made to run what the others have forgotten.
func TestForgetAtAQuorum(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	lease := mustAcquire(t, l, f.request(past(1)))
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
	next := mustAcquire(t, again, f.request(past(2)))
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
	const things = 200
	var last locking.Token
	for i := range things {
		req := c.request(time.Time{})
		req.Name = fmt.Sprintf("thing-%d", i)
		if i%2 == 1 {
			req.Tick = past(i)
		}
		lease := mustAcquire(t, l, req)
		last = max(last, lease.Claim().Token)
		mustRelease(t, lease)
	}
	size := func(s *redistest.Server) int64 { return s.Client().DBSize(t.Context()).Val() }
	for i, s := range servers {
		if size(s) < things {
			t.Errorf("node %d holds %d keys after %d locks: the test shows nothing", i, size(s), things)
		}
	}
	for i := range things {
		name := fmt.Sprintf("thing-%d", i)
		eventually(t, name+" is forgotten", func() bool {
			err := Forget(t.Context(), set, name)
			return err == nil || errors.Is(err, ErrUnknownName)
		})
	}
	eventually(t, "the nodes keep nothing but themselves", func() bool {
		for _, s := range servers {
			if size(s) != 1 {
				return false
			}
		}
		return true
	})
	lease := mustAcquire(t, l, c.request(time.Time{}))
	if lease.Claim().Token <= last {
		t.Errorf("token %d of a name that was never used, after %d was forgotten", lease.Claim().Token, last)
	}
	mustRelease(t, lease)
}
