package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// costTimes: a timeout far above the duration of calls.
var costTimes = times{timeout: length.Of(500*time.Millisecond, time.Second), ttl: 20 * time.Second, grace: 21 * time.Second}

// A sleeper is a way for nodes not to answer.
type sleeper struct {
	name        string
	sleep, wake func(s *redistest.Server, p *proxytest.Proxy)
}

func sleepers() []sleeper {
	return []sleeper{
		{
			"frozen",
			func(s *redistest.Server, _ *proxytest.Proxy) { s.Freeze() },
			func(s *redistest.Server, _ *proxytest.Proxy) { s.Thaw() },
		},
		{
			"black-holed",
			func(_ *redistest.Server, p *proxytest.Proxy) { p.BlackHole() },
			func(_ *redistest.Server, p *proxytest.Proxy) { p.Pass() },
		},
	}
}

// One or two silent nodes cost one timeout, once; after that acquire, extend and release
// take as long as with all nodes. Three lead to an error after one timeout, and at once
// from then on. Healthy and faulty rounds alternate, and medians are compared within the
// pair.
func TestCost(t *testing.T) {
	if !length.Whole() { // else alone: it measures
		t.Parallel()
	}
	rand := dice(t)
	var b strings.Builder
	b.WriteString("| nodes | acquire | extend | release | first call |\n|---|---|---|---|---|\n")
	kinds := sleepers()
	if !length.Whole() {
		kinds = kinds[rand.IntN(len(kinds)):][:1]
	}
	for _, kind := range kinds {
		w := newCost(t, kind)
		for n := 1; n <= size-quorum; n++ {
			b.WriteString(w.pairs(t, n))
		}
		b.WriteString(w.outage(t))
	}
	report(t, "cost", b.String())
}

// A cost measures one replica, before nodes of one kind.
type cost struct {
	kind sleeper
	c    *cluster
	way  lines
	r    *replica
	tick time.Time
}

func newCost(t *testing.T, kind sleeper) *cost {
	t.Helper()
	w := &cost{kind: kind, tick: past(1)}
	w.c = newCluster(t, costTimes)
	w.way = w.c.lines(t)
	w.r = w.c.replica(t, w.way)
	w.round(t, 5) // connections and scripts are in place
	return w
}

// next is a request for a tick of its own.
func (w *cost) next() locking.Request {
	w.tick = w.tick.Add(time.Millisecond)
	return w.c.request(w.tick)
}

// round returns the medians of acquire, extend and release over n claims.
func (w *cost) round(t *testing.T, n int) [3]time.Duration {
	t.Helper()
	var took [3][]time.Duration
	for range n {
		began := time.Now()
		lease := mustClaim(t, w.r, w.next())
		acquired := time.Now()
		eventually(t, "a lease is extended", func() bool { return lease.Extend(t.Context()) == nil })
		extended := time.Now()
		mustRelease(t, lease)
		for i, d := range []time.Duration{acquired.Sub(began), extended.Sub(acquired), time.Since(extended)} {
			took[i] = append(took[i], d)
		}
	}
	return [3]time.Duration{median(took[0]), median(took[1]), median(took[2])}
}

// pairs compares rounds with n nodes asleep to rounds with none, and returns a
// row of the table.
func (w *cost) pairs(t *testing.T, n int) string {
	t.Helper()
	var ratios [3][]float64
	var firsts []time.Duration
	for range length.Of(1, 9) {
		well := w.round(t, length.Of(3, 200))
		firsts = append(firsts, w.sleep(t, n))
		ill := w.round(t, length.Of(3, 200))
		for i := range ratios {
			ratios[i] = append(ratios[i], float64(ill[i])/float64(well[i]))
		}
		w.wake(t, n)
	}
	var row strings.Builder
	fmt.Fprintf(&row, "| %d %s |", n, w.kind.name)
	for i, list := range ratios {
		fmt.Fprintf(&row, " %.2f × (%.2f to %.2f) |", median(list), slices.Min(list), slices.Max(list))
		if limit := 1.2; length.Whole() && median(list) > limit {
			t.Errorf("%s with %d nodes %s: %.2f times of healthy, want %v at most", operations[i], n, w.kind.name, median(list), limit)
		}
	}
	fmt.Fprintf(&row, " %.2f timeouts |\n", inTimeouts(median(firsts)))
	return row.String()
}

// outage has a quorum's nodes fall asleep, and returns a row of the table.
func (w *cost) outage(t *testing.T) string {
	t.Helper()
	other := w.next()
	other.Name = "other" // a lease of the same lock could block it
	lease := mustClaim(t, w.r, other)
	first := w.sleep(t, quorum)
	var later []time.Duration
	for range 5 {
		began := time.Now()
		_, err := w.r.TryAcquire(t.Context(), w.next())
		later = append(later, time.Since(began))
		if !errors.Is(err, locking.ErrNoQuorum) || !typed(err) {
			t.Errorf("TryAcquire = %v, want %v", err, locking.ErrNoQuorum)
		}
		if err := lease.Extend(t.Context()); !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("Extend = %v, want %v", err, locking.ErrNoQuorum)
		}
	}
	// A wait for a timeout shows in all five tries; a busy machine slows down fewer.
	if slices.Min(later) > costTimes.timeout/2 {
		t.Errorf("the first try took %v, and later ones still take %v", first, later)
	}
	w.wake(t, quorum)
	_ = release(t, lease) // its work is done
	return fmt.Sprintf("| %d %s | no quorum, later tries in %.3f timeouts | no quorum | | %.2f timeouts |\n",
		quorum, w.kind.name, inTimeouts(median(later)), inTimeouts(first))
}

// sleep takes n nodes away and returns how long the first claim took. Each node
// may be waited for once.
func (w *cost) sleep(t *testing.T, n int) time.Duration {
	t.Helper()
	var before []int
	for i := range n {
		before = append(before, w.r.down(i))
		w.kind.sleep(w.c.servers[i], w.way[i])
	}
	began := time.Now()
	lease, err := w.r.TryAcquire(t.Context(), w.next())
	took := time.Since(began)
	for i := range n {
		if waits := w.r.down(i) - before[i]; waits > 1 {
			t.Errorf("%s was waited for %d times, want once", nodeName(i), waits)
		}
	}
	switch {
	case err == nil:
		_ = release(t, lease) // not measured
	case n >= quorum && !errors.Is(err, locking.ErrNoQuorum):
		t.Errorf("TryAcquire with %d nodes %s = %v, want %v", n, w.kind.name, err, locking.ErrNoQuorum)
	}
	return took
}

// wake brings the nodes back, and waits until the replica uses them.
func (w *cost) wake(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.kind.wake(w.c.servers[i], w.way[i])
	}
	eventually(t, "all nodes are used again", func() bool { return len(w.r.set.Unusable()) == 0 })
}

func median[T int64 | float64 | time.Duration](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func inTimeouts(d time.Duration) float64 { return d.Seconds() / costTimes.timeout.Seconds() }
