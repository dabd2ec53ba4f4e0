package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// Release distinguishes a lease that was held until then, one that had expired, one that is
// another's, and an unknown end, with and without ticks.
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
		}, []error{locking.ErrExpired}, "the lock had expired"},
		"run out by time": {func(_ *testing.T, c *cluster, _ *redistest.Minis, _ *Locker) {
			time.Sleep(c.cfg.TTL)
		}, []error{locking.ErrExpired}, "0 of 5 nodes agreed"},
		"another's": {func(t *testing.T, c *cluster, _ *redistest.Minis, l *Locker) {
			time.Sleep(c.cfg.TTL)
			mustAcquire(t, l, c.request(past(9)))
			synctest.Wait()
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
				synctest.Wait() // for the nodes that the claim did not wait for
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
		minis.Node(i).Del("{quorate}:job:job:lock")
	}
}

// rootOf is the end that err wraps.
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
		synctest.Wait()
		for i := range 5 {
			runs, err := minis.Node(i).ZMembers("{quorate}:job:job:runs")
			if err != nil || len(runs) != 1 || !strings.HasPrefix(runs[0], "R") {
				t.Errorf("node %d has the records %v (%v), want one that is finished", i+1, runs, err)
			}
		}
		if _, err := l.TryAcquire(t.Context(), req); !errors.Is(err, locking.ErrDone) {
			t.Errorf("TryAcquire of the tick = %v, want %v", err, locking.ErrDone)
		}
	})
}

// The refusal of a plain lock names one of four reasons.
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
		}, locking.ErrSplit, []string{"job: competitors blocked one another", " of 5 votes", "the lock is held"}},
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
	const key = "{quorate}:job:job:lock"
	if err := minis.Node(node).Set(key, owner); err != nil {
		t.Fatal(err)
	}
	minis.Node(node).SetTTL(key, time.Minute)
}

// A lease whose deadline has passed is never taken up again: a plain Redlock client, for
// example, may have had the lock meanwhile without a trace at the nodes.
func TestLeaseIsNotTakenUpAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tick     bool
		meantime func(t *testing.T, minis *redistest.Minis)
	}{
		"a lock, and nobody had it": {false, func(*testing.T, *redistest.Minis) {}},
		"a lock, and a stranger had it": {false, func(t *testing.T, minis *redistest.Minis) {
			for i := range 5 {
				lockFor(t, minis, i, "stranger")
			}
			deleteLocks(minis, 5)
		}},
		"a tick, and nobody had the lock": {true, func(*testing.T, *redistest.Minis) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, 5)
				c := newMiniCluster(t, minis)
				time.Sleep(time.Hour)
				var tick time.Time
				if tt.tick {
					tick = past(0)
				}
				lease := mustAcquire(t, c.locker(t), c.request(tick))
				end := lease.Deadline()
				time.Sleep(c.cfg.TTL + time.Second)
				tt.meantime(t, minis)
				for range 2 {
					if err := lease.Extend(t.Context()); !errors.Is(err, locking.ErrLeaseLost) {
						t.Errorf("Extend = %v, want %v", err, locking.ErrLeaseLost)
					}
				}
				for i := range 5 {
					if minis.Node(i).Exists("{quorate}:job:job:lock") {
						t.Errorf("Extend has set the lock at node %d", i+1)
					}
				}
				if err := lease.Release(t.Context(), nil); !errors.Is(err, locking.ErrExpired) {
					t.Errorf("Release = %v, want %v", err, locking.ErrExpired)
				}
				if !lease.Deadline().Equal(end) {
					t.Errorf("the deadline moved from %v to %v", end, lease.Deadline())
				}
			})
		})
	}
}

// A round that ends after the deadline extends no lease; one that ends before may set
// the lock again.
func TestExtendAcrossTheDeadline(t *testing.T) {
	t.Parallel()
	const slow = 80 * time.Millisecond // several times of it fit into a node timeout
	for name, tt := range map[string]struct {
		lapsed int           // nodes
		begins time.Duration // before the deadline
		want   error
		said   string
	}{
		"held, in time":  {0, time.Second, nil, ""},
		"held, too late": {0, slow / 2, locking.ErrLeaseLost, "its deadline has passed (3 of 5 nodes agreed)"},
		"set in time":    {5, time.Second, nil, ""},
		"set too late":   {3, slow / 2, locking.ErrLeaseLost, "its deadline has passed (3 of 5 nodes agreed)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, 5)
				c := newMiniCluster(t, minis)
				var delay atomic.Int64
				c.cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := minis.Dial(ctx, network, addr)
					return slowConn{conn, &delay}, err
				}
				time.Sleep(time.Hour)
				lease := mustAcquire(t, c.locker(t), c.request(time.Time{}))
				end := lease.Deadline()
				deleteLocks(minis, tt.lapsed)
				time.Sleep(time.Until(end) - tt.begins)
				delay.Store(int64(slow))
				err := lease.Extend(t.Context())
				if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.said) {
					t.Errorf("Extend = %v, want %v that says %q", err, tt.want, tt.said)
				}
				if moved := !lease.Deadline().Equal(end); moved != (tt.want == nil) {
					t.Errorf("Extend = %v, and the deadline moved: %t", err, moved)
				}
				want := locking.ErrExpired
				if tt.want == nil {
					want = nil
				}
				if err := lease.Release(t.Context(), nil); !errors.Is(err, want) {
					t.Errorf("Release = %v, want %v", err, want)
				}
			})
		})
	}
}

// A slowConn delivers writes after a delay.
type slowConn struct {
	net.Conn
	delay *atomic.Int64
}

func (c slowConn) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(c.delay.Load()))
	return c.Conn.Write(b)
}
