package redlock

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
)

// Names begin at all nodes equally often, and each always at the same.
func TestOrderSpreads(t *testing.T) {
	t.Parallel()
	c := newMiniCluster(t, redistest.MiniN(t, 5))
	list := c.open(t).Nodes()
	first := map[int]int{}
	for i := range 1000 {
		name := fmt.Sprintf("job-%d", i)
		places := order(list, name)
		if again := order(list, name); !slices.Equal(places, again) {
			t.Fatalf("%s is decided at %v, then at %v", name, places, again)
		}
		first[places[0]]++
		if slices.Sort(places); !slices.Equal(places, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("the order of %s is %v", name, places)
		}
	}
	for node := range list {
		if n := first[node]; n < 150 || n > 250 {
			t.Errorf("of 1000 names %d begin at node %d, want about 200", n, node)
		}
	}
}

// sparing is five nodes and a lease on a claim that was made at the first three.
func sparing(t *testing.T) (*redistest.Minis, *countingWires, *Locker, *cluster, *lease) {
	t.Helper()
	c, w, minis := countedNodes(t, 5)
	time.Sleep(time.Hour)
	l, err := New(c.open(t), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := mustAcquire(t, l, direct(c.work(past(1)))).(*lease)
	if got := w.since(); got != "commit 3" {
		t.Fatalf("the claim costs %q", got)
	}
	return minis, w, l, c, s
}

// What lasts until it is extended is known everywhere from then on.
func TestExtensionAsksAllNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, w, _, _, s := sparing(t)
		for _, want := range []string{"commit 2, extend 5", "extend 5"} {
			if err := s.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.since(); got != want {
				t.Errorf("an extension costs %q, want %q", got, want)
			}
		}
		mustRelease(t, s)
		if got := w.since(); got != "finish 5" {
			t.Errorf("the release costs %q, want all nodes", got)
		}
	})
}

// A claim that rests on a bare quorum outlives what one on all nodes does.
func TestBareQuorumOutlivesAMinority(t *testing.T) {
	t.Parallel()
	for _, down := range [][]int{{0}, {1, 2}, {0, 4}, {3, 4}} {
		for _, extends := range []bool{false, true} {
			t.Run(fmt.Sprintf("down %v, extended %v", down, extends), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					minis, _, l, c, s := sparing(t)
					for _, i := range down {
						minis.Stop(i)
					}
					if extends {
						if err := s.Extend(t.Context()); err != nil {
							t.Error(err)
						}
					}
					mustRelease(t, s)
					for _, again := range []locking.Request{c.work(past(1)), direct(c.work(past(1)))} {
						if _, err := l.TryAcquire(t.Context(), again); !errors.Is(err, locking.ErrDone) {
							t.Errorf("another claim of the tick = %v, want %v", err, locking.ErrDone)
						}
					}
					mustRelease(t, mustAcquire(t, l, direct(c.work(past(2)))))
					for _, i := range down { // the client dials until somebody answers
						minis.Start(i, true)
					}
					time.Sleep(time.Minute)
				})
			})
		}
	}
}

// Nodes that are known not to vote are the ones left out: one is down, one abstains.
func TestOrderBeginsWithWhoVotes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis, w, l, c, s := sparing(t)
		mustRelease(t, s)
		time.Sleep(time.Second) // a larger token
		minis.Stop(0)
		minis.Node(2).HSet("quorate:node", "run_id", "another")
		sights(t, l.Watch(c.work(past(2)), 0), 4) // it is known from then on
		w.since()
		next := mustAcquire(t, l, direct(c.work(past(2))))
		if got, costs := next.Claim().Votes.For, w.since(); costs != "commit 3" || got != 3 {
			t.Errorf("a claim got %d votes for %q, want three, and no node to be asked in vain", got, costs)
		}
		mustRelease(t, next)
		minis.Start(0, true)
		time.Sleep(time.Minute)
	})
}

// A node accepts a claim once more after somebody else had the lock there: that is
// no renewal.
func TestJoiningIsNoRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis, _, l, c, s := sparing(t)
		for node := range 5 {
			if node > 2 {
				s.a.joinAt(t.Context(), node)
				s.a.spared[node] = true // as if the reply had been lost
			}
			minis.Node(node).Del("quorate:job:work:lock") // it has run out
		}
		time.Sleep(time.Second)
		other := c.work(past(2))
		other.Stream = "manual"
		claimAt(t, l, other, 0, 0, 3, 4) // a quorum
		if err := s.Extend(t.Context()); !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Extend = %v after another run began, want %v", err, locking.ErrLeaseLost)
		}
	})
}
