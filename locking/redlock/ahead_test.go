package redlock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// aheadCluster is a cluster of n nodes. The first one restarted with its clock ahead, so
// long ago that it votes again.
func aheadCluster(t *testing.T, n int, ahead time.Duration) (*cluster, *redistest.Minis) {
	t.Helper()
	minis := redistest.MiniN(t, n)
	c := newMiniCluster(t, minis)
	time.Sleep(time.Hour)
	minis.Node(0).HSet("{quorate}:node", "run_id", "another")
	minis.Node(0).SetTime(time.Now().Add(ahead))
	if err := c.open(t).Join(t.Context()); err != nil { // it learns that it is another process
		t.Fatal(err)
	}
	time.Sleep(c.cfg.Grace + time.Second)
	minis.Node(0).SetTime(time.Now().Add(ahead))
	return c, minis
}

// One node whose clock is ahead does not keep anybody from a plain lock, nor from a
// slot of a group of jobs, which is one.
func TestNodeAheadStopsNobody(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5} {
		for _, ahead := range []time.Duration{0, 10 * time.Second, 20 * time.Second, time.Hour} {
			t.Run(fmt.Sprintf("%d nodes, %v", n, ahead), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, _ := aheadCluster(t, n, ahead)
					l := c.locker(t)
					var last locking.Token
					for range 8 {
						lease, err := l.TryAcquire(t.Context(), c.request(time.Time{}))
						if err != nil {
							t.Fatalf("TryAcquire = %v", err)
						}
						if token := lease.Claim().Token; token <= last {
							t.Errorf("token %d after %d", token, last)
						} else {
							last = token
						}
						if err := lease.Extend(t.Context()); err != nil {
							t.Errorf("Extend = %v", err)
						}
						mustRelease(t, lease)
						synctest.Wait() // all nodes have heard of it: two of three do not suffice here
					}
				})
			})
		}
	}
}

// A fence that is too far ahead, as that of a claim by a replica whose clock was
// ahead, does not keep a tick from being claimed either way.
func TestFenceAheadIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, direct := range []bool{false, true} {
		for first := range 5 { // the order of asking begins at a place of its own
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, 5)
				c := newMiniCluster(t, minis)
				time.Sleep(time.Hour)
				far := uint64(time.Now().Add(time.Hour).Unix()) << 20
				if err := minis.Node(first).Set("{quorate}:job:job:fence", strconv.FormatUint(far, 10)+" - - "); err != nil {
					t.Fatal(err)
				}
				l, req := c.locker(t), c.request(past(0))
				req.Direct = direct
				lease, err := l.TryAcquire(t.Context(), req)
				if err != nil {
					t.Fatalf("node %d, direct %t: TryAcquire = %v", first+1, direct, err)
				}
				if token := uint64(lease.Claim().Token); token >= far {
					t.Errorf("token %d is above the fence %d that is ahead", token, far)
				}
				mustRelease(t, lease)
			})
		}
	}
}

// A fence within the clocks' limit counts, also if a minority does not know it.
func TestFenceWithinTheClocksCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		within := uint64(time.Now().Add(c.cfg.Grace/2-time.Second).UnixMilli()) << 20 / 1000
		for _, i := range []int{1, 2, 3} { // of any quorum one knows it
			if err := minis.Node(i).Set("{quorate}:job:job:fence", strconv.FormatUint(within, 10)+" - - "); err != nil {
				t.Fatal(err)
			}
		}
		lease := mustAcquire(t, c.locker(t), c.request(time.Time{}))
		if got := lease.Claim(); uint64(got.Token) != within+1 {
			t.Errorf("token %d, want %d", got.Token, within+1)
		}
		mustRelease(t, lease)
	})
}

// One Redis whose clock was ahead, and is right again, says until when its tokens are ahead of it.
// Then it grants again.
func TestOneRedisWasAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 1)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		far := time.Now().Add(time.Hour)
		if err := minis.Node(0).Set("{quorate}:job:job:fence", strconv.FormatInt(far.Unix()<<20, 10)+" - - "); err != nil {
			t.Fatal(err)
		}
		l := c.locker(t)
		_, err := l.TryAcquire(t.Context(), c.request(time.Time{}))
		if !errors.Is(err, locking.ErrNodeAhead) {
			t.Fatalf("TryAcquire = %v, want %v", err, locking.ErrNodeAhead)
		}
		text := err.Error()
		_, passes, _ := strings.Cut(text, "this passes at ")
		at, _ := time.Parse(time.RFC3339, strings.TrimSuffix(passes, ")"))
		if by := far.Sub(at); by < c.cfg.Grace/2-2*time.Second || by > c.cfg.Grace/2+time.Second || strings.Contains(text, "other nodes") {
			t.Errorf("%q: %v before the tokens' time, want half a grace", text, by)
		}
		time.Sleep(time.Until(at))
		minis.Node(0).SetTime(time.Now())
		lease := mustAcquire(t, l, c.request(time.Time{}))
		if token := lease.Claim().Token; uint64(token) <= uint64(far.Unix())<<20 {
			t.Errorf("token %d is not above the fence", token)
		}
		mustRelease(t, lease)
	})
}

// Where no quorum remains without it, the refusal names the node that is ahead, not
// the local clock.
func TestRefusalNamesTheNodeAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, minis := aheadCluster(t, 5, time.Hour)
		l := c.locker(t)
		minis.Stop(3)
		minis.Stop(4)
		_, err := l.TryAcquire(t.Context(), c.request(time.Time{}))
		refused, ok := errors.AsType[*locking.AcquireError](err)
		if !ok || !errors.Is(err, locking.ErrNodeAhead) || errors.Is(err, locking.ErrFuture) {
			t.Fatalf("TryAcquire = %v, want %v", err, locking.ErrNodeAhead)
		}
		want := "node-1:6379: its tokens are "
		if said := refused.Nodes[0].Error(); !strings.HasPrefix(said, want) || !strings.Contains(said, "it was restarted, or its clock is or was ahead") {
			t.Errorf("of node 1 it says %q, want %q…", said, want)
		}
		minis.Start(3, true)
		time.Sleep(time.Minute) // it is found to be up again
		minis.Node(0).SetTime(time.Now().Add(time.Hour))
		mustRelease(t, mustAcquire(t, l, c.request(time.Time{})))
	})
}
