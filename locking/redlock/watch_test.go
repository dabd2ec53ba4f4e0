package redlock

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// claimAt gives a try claims at some nodes, with a token that much larger than the clock's.
func claimAt(t *testing.T, l *Locker, req locking.Request, larger uint64, at ...int) *try {
	t.Helper()
	a := newTry(l, req, l.cfg.Random(req))
	a.chooseNumbers(nil)
	a.claim.Token += larger
	a.packed = a.claim.Pack()
	for _, i := range at {
		if v := askAt(t, a, i, a.commitQuery(false)); !v.ok() {
			t.Fatalf("node %d: %v", i, v.objection())
		}
	}
	return a
}

// askAt asks one node and waits.
func askAt(t *testing.T, a *try, node int, q query) vote {
	t.Helper()
	votes := make(chan vote, 1)
	a.send(t.Context(), &client.Fan{Quorum: a.l.set.Quorum()}, node, &q, ballot(votes))
	return <-votes
}

// ballot gets one vote.
type ballot chan vote

func (ballot) retries(int, vote) bool { return false }

func (b ballot) add(_ int, v vote) { b <- v }

// sights returns the results of some looks, in a word each.
func sights(t *testing.T, w locking.Watch, looks int) []string {
	t.Helper()
	var all []string
	for range looks {
		all = append(all, sight(w.Look(t.Context())))
	}
	return all
}

func sight(err error) string {
	switch {
	case err == nil:
		return "-"
	case errors.Is(err, locking.ErrTaken):
		return "taken"
	case errors.Is(err, locking.ErrClaimed):
		return "claimed"
	case errors.Is(err, locking.ErrDone):
		return "done"
	case errors.Is(err, locking.ErrSilent):
		return "silent"
	}
	return err.Error()
}

// work is a request for a name that is decided at the nodes in their order.
func (c *cluster) work(tick time.Time) locking.Request {
	req := c.request(tick)
	req.Name = "work"
	return req
}

// Conclusions of looks from claims at some of five nodes.
func TestLookConcludes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		claims [][]int // of an attempt each
		down   []int
		start  uint64
		want   []string
	}{
		"nothing":                         {nil, nil, 0, []string{"-", "-", "-", "-", "-", "-"}},
		"all name one claim":              {[][]int{{0, 1, 2, 3, 4}}, nil, 0, []string{"taken", "taken", "claimed", "claimed"}},
		"from another start":              {[][]int{{0, 1, 2, 3, 4}}, nil, 14, []string{"taken", "taken", "claimed", "claimed"}},
		"a quorum does":                   {[][]int{{0, 1, 2}}, nil, 1, []string{"taken", "taken", "-", "-", "claimed"}},
		"another quorum does":             {[][]int{{0, 2, 4}}, nil, 0, []string{"taken", "-", "taken", "-", "claimed", "claimed"}},
		"a minority does":                 {[][]int{{0, 1}}, nil, 0, []string{"taken", "taken", "-", "-", "-", "taken"}},
		"a minority, all that can be had": {[][]int{{0, 1}}, []int{2, 3, 4}, 0, []string{"taken", "taken", "taken", "taken", "taken"}},
		"two claims":                      {[][]int{{0, 1}, {2, 3}}, nil, 0, []string{"taken", "taken", "taken", "taken", "-"}},
		"nodes that are down are skipped": {[][]int{{1, 2, 4}}, []int{0, 3}, 0, []string{"taken", "taken", "claimed"}},
		"nobody is up":                    {[][]int{{0, 1, 2}}, []int{0, 1, 2, 3, 4}, 0, []string{"-", "-"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, 5)
				c := newMiniCluster(t, minis)
				l, watcher := c.locker(t), c.locker(t)
				for i, at := range tt.claims {
					claimAt(t, l, c.work(past(1)), uint64(i), at...)
				}
				for _, i := range tt.down {
					minis.Stop(i)
				}
				_ = watcher.Watch(c.work(past(1)), 0)   // asks nobody
				for _, n := range watcher.set.Nodes() { // it is known which are down
					_ = n.Call(t.Context(), scripts.Look, nil)
				}
				if got := sights(t, watcher.Watch(c.work(past(1)), tt.start), len(tt.want)); !slices.Equal(got, tt.want) {
					t.Errorf("looks say %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A claim that is void, finished or overtaken, on one node after the other.
func TestLookAtClaimsThatEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newMiniCluster(t, redistest.MiniN(t, 5))
		l := c.locker(t)
		a := claimAt(t, l, c.work(past(1)), 0, 0, 1, 2, 3, 4)
		w := l.Watch(c.work(past(1)), 0)
		if got, want := sights(t, w, 2), []string{"taken", "taken"}; !slices.Equal(got, want) {
			t.Errorf("looks say %v, want %v", got, want)
		}
		for _, i := range []int{0, 1} { // their answers no longer count once they are asked again
			askAt(t, a, i, a.voidQuery())
		}
		if got, want := sights(t, w, 4), []string{"claimed", "claimed", "claimed", "-"}; !slices.Equal(got, want) {
			t.Errorf("looks say %v, want %v", got, want)
		}
		askAt(t, a, 2, a.finishQuery(nil, false))
		if got, want := sights(t, l.Watch(c.work(past(1)), 2), 1), []string{"done"}; !slices.Equal(got, want) {
			t.Errorf("looks say %v, want %v", got, want)
		}
		claimAt(t, l, c.work(past(2)), 1, 0)
		if got, want := sights(t, l.Watch(c.work(past(1)), 0), 1), []string{"-"}; !slices.Equal(got, want) {
			t.Errorf("looks say %v, want %v", got, want)
		}
	})
}

// A look is one call to one node, watchers begin at different ones, and a request
// that no node could grant is not asked about.
func TestLookAsksOneNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, w := countedCluster(t)
		l, err := New(c.open(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		claimAt(t, l, c.work(past(1)), 0, 2)
		w.since()
		for start, want := range []string{"-", "-", "taken", "-", "-", "-"} {
			if got := sights(t, l.Watch(c.work(past(1)), uint64(start)), 1); got[0] != want {
				t.Errorf("the first look from %d on says %s, want %s", start, got[0], want)
			}
		}
		if got, want := w.since(), "look 6"; got != want {
			t.Errorf("six looks cost %q, want %q", got, want)
		}
		bad := c.work(past(1))
		bad.TTL = time.Nanosecond
		if got := sights(t, l.Watch(bad, 3), 1); got[0] != "-" || w.since() != "" {
			t.Errorf("a look at what no node could grant says %v, want nothing, and no call", got)
		}
	})
}

// A restarted node has no vote, so the next one is asked; a silent one costs a look and a
// timeout, once.
func TestLookPastNodesWithoutASay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		l := c.locker(t)
		claimAt(t, l, c.work(past(1)), 0, 0, 1, 2, 3, 4)
		minis.Node(0).HSet("{quorate}:node", "run_id", "another")
		minis.Node(1).HSet("{quorate}:node", "sealed_for", "target")
		if got, want := sights(t, l.Watch(c.work(past(1)), 0), 4), []string{"taken", "taken", "claimed", "claimed"}; !slices.Equal(got, want) {
			t.Errorf("looks say %v, want %v", got, want)
		}
	})
}

// A silent node: the look takes a timeout and reports so; the next look asks another node.
func TestLookAtASilentNode(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	mustAcquire(t, l, f.work(past(1)))
	f.proxies[0].BlackHole()
	want := []string{"silent", "taken", "taken", "claimed"}
	if got := sights(t, l.Watch(f.work(past(1)), 0), len(want)); !slices.Equal(got, want) {
		t.Errorf("looks say %v, want %v", got, want)
	}
}
