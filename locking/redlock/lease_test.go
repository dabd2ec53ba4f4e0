package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
)

// Release tells a lease that was held until then, one that had run out, and one
// that is another's, whether the locker knows ticks or not; and where nobody
// can say, that.
func TestReleaseTellsTheEndsApart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(t *testing.T, c *cluster, minis *redistest.Minis, l *Locker)
		want   []error // all that the error matches; none: nil
		said   string
	}{
		"held": {func(*testing.T, *cluster, *redistest.Minis, *Locker) {}, nil, ""},
		"held on a quorum": {func(_ *testing.T, _ *cluster, minis *redistest.Minis, _ *Locker) {
			deleteLocks(minis, 2)
		}, nil, ""},
		"run out on a quorum": {func(_ *testing.T, _ *cluster, minis *redistest.Minis, _ *Locker) {
			deleteLocks(minis, 3)
		}, []error{locking.ErrExpired}, "2 of 5 nodes agreed; node-1:6379: the lock had run out"},
		"run out by time": {func(_ *testing.T, c *cluster, _ *redistest.Minis, _ *Locker) {
			time.Sleep(c.cfg.TTL)
		}, []error{locking.ErrExpired}, "0 of 5 nodes agreed"},
		"another's": {func(t *testing.T, c *cluster, _ *redistest.Minis, l *Locker) {
			time.Sleep(c.cfg.TTL)
			mustAcquire(t, l, c.request(past(9)))
		}, []error{locking.ErrLeaseLost}, "it holds another claim by the holder with token"},
		"nobody answers": {func(_ *testing.T, _ *cluster, minis *redistest.Minis, _ *Locker) {
			for i := range 3 {
				minis.Stop(i)
			}
		}, []error{locking.ErrLeaseLost, locking.ErrNoQuorum}, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, 5)
				c := newMiniCluster(t, minis)
				time.Sleep(time.Hour)
				l := c.locker(t)
				lease := mustAcquire(t, l, c.request(past(0)))
				tt.before(t, c, minis, l)
				err := lease.Release(t.Context(), []byte(`{"v":1}`))
				for _, is := range []error{locking.ErrExpired, locking.ErrLeaseLost, locking.ErrNoQuorum} {
					if want := slices.Contains(tt.want, is); errors.Is(err, is) != want {
						t.Errorf("Release = %v, want it to match %v: %t", err, is, want)
					}
				}
				if (err == nil) != (tt.want == nil) || err != nil && !strings.Contains(err.Error(), tt.said) {
					t.Errorf("Release = %v, want %v that says %q", err, tt.want, tt.said)
				}
				if again := lease.Release(t.Context(), nil); fmt.Sprint(rootOf(again)) != fmt.Sprint(rootOf(err)) {
					t.Errorf("Release again = %v, want %v", again, err)
				}
			})
		})
	}
}

func deleteLocks(minis *redistest.Minis, n int) {
	for i := range n {
		minis.Node(i).Del("quorate:job:job:lock")
	}
}

// rootOf is which of the ends err tells of.
func rootOf(err error) error {
	for _, end := range []error{locking.ErrExpired, locking.ErrLeaseLost} {
		if errors.Is(err, end) {
			return end
		}
	}
	return err
}

// A lease that had run out is closed with its record like any other.
func TestReleaseAfterExpiryKeepsTheRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		l, req := c.locker(t), c.request(past(0))
		lease := mustAcquire(t, l, req)
		time.Sleep(2 * c.cfg.TTL)
		if err := lease.Release(t.Context(), []byte(`{"v":1}`)); !errors.Is(err, locking.ErrExpired) {
			t.Errorf("Release = %v, want %v", err, locking.ErrExpired)
		}
		for i := range 5 {
			runs, err := minis.Node(i).ZMembers("quorate:job:job:runs")
			if err != nil || len(runs) != 1 || !strings.HasPrefix(runs[0], "F") {
				t.Errorf("node %d has the records %v (%v), want one that is finished", i+1, runs, err)
			}
		}
		if _, err := l.TryAcquire(t.Context(), req); !errors.Is(err, locking.ErrDone) {
			t.Errorf("TryAcquire of the tick = %v, want %v", err, locking.ErrDone)
		}
	})
}

// Whoever is refused a plain lock learns which of four things stood in the way.
func TestWhyALockIsNotGranted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(t *testing.T, c *cluster, minis *redistest.Minis)
		want   error
		said   []string
	}{
		"taken": {func(t *testing.T, c *cluster, _ *redistest.Minis) {
			mustAcquire(t, c.locker(t), c.request(time.Time{}))
		}, locking.ErrTaken, []string{"job: lock is held by the holder with token ", " until 2000-01-01T01:00:", "(0 of 5 votes; "}},
		"split": {func(t *testing.T, _ *cluster, minis *redistest.Minis) {
			for i, owner := range []string{"x", "x", "y"} {
				lockFor(t, minis, i, owner)
			}
		}, locking.ErrSplit, []string{"job: votes were split", "2 of 5 votes", "node-3:6379: the lock is held"}},
		"no quorum": {func(_ *testing.T, _ *cluster, minis *redistest.Minis) {
			for i := range 3 {
				minis.Stop(i)
			}
		}, locking.ErrNoQuorum, []string{"job: no quorum of nodes answered", "2 of 5 votes", "node-2:6379: ", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, 5)
				c := newMiniCluster(t, minis)
				time.Sleep(time.Hour)
				l := c.locker(t)
				tt.before(t, c, minis)
				_, err := l.TryAcquire(t.Context(), c.request(time.Time{}))
				if refused, ok := errors.AsType[*locking.AcquireError](err); !ok || !errors.Is(refused.Reason, tt.want) {
					t.Fatalf("TryAcquire = %v, want %v", err, tt.want)
				}
				for _, want := range tt.said {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q lacks %q", err, want)
					}
				}
			})
		})
	}
}

// lockFor sets the lock of a competitor on one node.
func lockFor(t *testing.T, minis *redistest.Minis, node int, owner string) {
	t.Helper()
	const key = "quorate:job:job:lock"
	if err := minis.Node(node).Set(key, owner); err != nil {
		t.Fatal(err)
	}
	minis.Node(node).SetTTL(key, time.Minute)
}

// Validity that was used up before the claim was complete is the fourth.
func TestWhyALockIsTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newMiniCluster(t, redistest.MiniN(t, 5))
		time.Sleep(time.Hour)
		l := c.locker(t)
		a := newAttempt(l, c.request(time.Time{}))
		if !a.acquire(t.Context()) {
			t.Fatal(a.refusal(false))
		}
		time.Sleep(c.cfg.TTL)
		_, err := a.commit(t.Context(), a.deadline(a.votes))
		if !errors.Is(err, locking.ErrTooSlow) || !strings.Contains(err.Error(), "job: validity was used up before the claim was complete (5 of 5 votes") {
			t.Errorf("commit = %v, want %v", err, locking.ErrTooSlow)
		}
	})
}
