package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// orphansOf returns the keys of one node that no attempt may leave behind: all but the
// node's own keys, claims, and tombstones, which expire.
func orphansOf(keys []string) (orphans []string, tombstones int) {
	for _, key := range keys {
		switch {
		case strings.Contains(key, ":claim."), strings.HasSuffix(key, ":fence"), strings.HasSuffix(key, ":runs"), key == "{quorate}:node":
		case strings.HasPrefix(key, "{quorate}:dead:"):
			tombstones++
		default:
			orphans = append(orphans, key)
		}
	}
	return orphans, tombstones
}

// After many attempts that failed, were cancelled, or lost their replies, five servers have
// only claims and tombstones. Leases outlast the test.
func TestOrphans(t *testing.T) {
	t.Parallel()
	each := length.Of(10, 100)
	f := newFive(t)
	l, other := f.locker(t), f.locker(t)
	over := past(0)
	mustRelease(t, mustAcquire(t, l, f.request(over))) // connections and scripts are in place
	random := rand.New(rand.NewPCG(3, 3))
	for _, kind := range []struct {
		name string
		try  func(n int) error
	}{
		{"failed", func(n int) error { return f.fail(t, l, other, over, n) }},
		{"cancelled", func(int) error { return f.cancel(t, l, random) }},
		{"lost", func(int) error { return f.lose(t, l, random) }},
	} {
		failed := 0
		for n := 0; failed < each && n < 20*each; n++ {
			if kind.try(n) != nil {
				failed++
			}
		}
		if failed < each {
			t.Errorf("only %d attempts were %s, want %d", failed, kind.name, each)
		}
		left, tombstones := f.left(t)
		eventually(t, "nothing but claims is left", func() bool {
			left, tombstones = f.left(t)
			return len(left) == 0
		})
		t.Logf("%d attempts %s: %d keys left but claims, %d tombstones", failed, kind.name, len(left), tombstones)
	}
}

// left returns the orphans of all servers.
func (f *five) left(t *testing.T) (orphans []string, tombstones int) {
	t.Helper()
	for _, s := range f.servers {
		o, n := orphansOf(s.Client().Keys(t.Context(), "*").Val())
		orphans, tombstones = append(orphans, o...), tombstones+n
	}
	return orphans, tombstones
}

// fail makes an attempt that is refused: for a tick that is over, a lock that is
// held, or votes that are split.
func (f *five) fail(t *testing.T, l, other *Locker, over time.Time, n int) error {
	t.Helper()
	switch n % 3 {
	case 0:
		_, err := l.TryAcquire(t.Context(), f.request(over))
		return err
	case 1:
		held := mustAcquire(t, other, f.request(time.Time{}))
		defer mustRelease(t, held)
		_, err := l.TryAcquire(t.Context(), f.request(time.Time{}))
		return err
	}
	const key = "{quorate}:job:job:lock"
	for i, owner := range []string{"x", "x", "y"} {
		f.servers[i].Client().Set(t.Context(), key, owner, time.Minute)
	}
	_, err := l.TryAcquire(t.Context(), f.request(time.Time{}))
	for i := range 3 {
		f.servers[i].Client().Del(t.Context(), key)
	}
	return err
}

// cancel makes an attempt whose context ends somewhere within it.
func (f *five) cancel(t *testing.T, l *Locker, random *rand.Rand) error {
	t.Helper()
	for _, p := range f.proxies {
		p.Delay(3 * time.Millisecond)
		defer p.Pass()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(10))*time.Millisecond)
	defer cancel()
	lease, err := l.TryAcquire(ctx, f.request(time.Time{}))
	if err == nil {
		mustRelease(t, lease)
	}
	return err
}

// lose makes an attempt that some nodes carry out without their replies
// arriving.
func (f *five) lose(t *testing.T, l *Locker, random *rand.Rand) error {
	t.Helper()
	deaf := random.Perm(5)[:2+random.IntN(3)]
	for _, n := range deaf {
		f.proxies[n].CutReplies("")
	}
	lease, err := l.TryAcquire(t.Context(), f.request(time.Time{}))
	for _, n := range deaf {
		f.proxies[n].Pass()
	}
	if err == nil {
		mustRelease(t, lease)
	}
	// Wait until the nodes are asked again, or the next attempt would lose
	// nothing.
	eventually(t, "all nodes vote", func() bool {
		lease, err := l.TryAcquire(t.Context(), f.request(time.Time{}))
		if err != nil {
			return false
		}
		mustRelease(t, lease)
		return !slices.ContainsFunc(l.set.NodeStates(), func(n health.State) bool { return !n.Up })
	})
	return err
}

// The same by seeds, in virtual time: requests may arrive long after the attempt
// has been given up. In the end the tombstones are gone too.
func TestOrphansOfLateMessages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testLateOrphans(t, seed) })
		})
	}
}

func testLateOrphans(t *testing.T, seed uint64) {
	t.Helper()
	const batches, batch = 10, 10
	minis := redistest.MiniN(t, 5)
	w := &weather{rand: rand.New(rand.NewPCG(seed, 2))}
	c := newCluster(t, minis.URLs(), func(cfg *membership.Config) {
		cfg.Dial, cfg.Embedded = w.dial(minis.Dial), true
		cfg.Timeout, cfg.TTL, cfg.Grace = 100*time.Millisecond, 2*time.Minute, 3*time.Minute
	})
	time.Sleep(time.Hour)
	l := c.locker(t)
	cancelled, lost := 0, 0
	enough := func() bool { return cancelled >= 5 && lost >= 5 }
	for i := 0; i < batches || !enough() && i < 10*batches; i++ { // goroutines share the dice: counts differ from run to run
		w.rough(true)
		for n := range batch {
			ctx, cancel := context.WithTimeout(t.Context(), w.upTo(300*time.Millisecond))
			req := c.request(time.Time{})
			if n%2 == 0 { // the other way: a tick in one round
				req = direct(c.request(time.Now().Truncate(time.Second)))
			}
			lease, err := l.TryAcquire(ctx, req)
			switch {
			case err == nil:
				_ = lease.Void(t.Context())
			case errors.Is(err, context.DeadlineExceeded):
				cancelled++
			default:
				lost++
			}
			cancel()
		}
		w.rough(false)
		time.Sleep(2 * latest) // a fraction of a lease
		for i := range 5 {
			if orphans, _ := orphansOf(minis.Node(i).Keys()); len(orphans) > 0 {
				t.Fatalf("node %d is left with %v", i+1, orphans)
			}
		}
	}
	if !enough() {
		t.Errorf("%d attempts were cancelled and %d failed: the test shows little", cancelled, lost)
	}
	time.Sleep(2 * c.cfg.TTL)
	for i := range 5 {
		keys := minis.Node(i).Keys()
		if orphans, tombstones := orphansOf(keys); len(orphans)+tombstones > 0 || !slices.Contains(keys, "{quorate}:node") {
			t.Errorf("node %d is left with %v", i+1, keys)
		}
	}
	t.Logf("%d attempts cancelled, %d lost", cancelled, lost)
}
