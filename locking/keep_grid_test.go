package locking_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Locker can send extensions of one instant in one message, so leases are extended at few
// instants.
func TestLeasesAreExtendedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const leases = 1000
		begun := time.Now()
		kept := make([]*fakeLease, leases)
		for i := range kept {
			time.AfterFunc(rand.N(every), func() {
				kept[i] = newFakeLease(always)
				k := locking.Keep(context.Background(), kept[i], locking.KeepConfig{Every: every, Margin: margin})
				time.AfterFunc(2*ttl, k.Stop)
			})
		}
		time.Sleep(3 * ttl)
		synctest.Wait()
		instants := map[time.Duration]bool{}
		for _, l := range kept {
			last := time.Duration(0)
			for n, at := range l.extended {
				if gap := at - last; gap > every || gap <= every-every/16 || n > 0 && gap != every {
					t.Fatalf("extended at %v: extension %d comes %v after the one before", l.extended, n+1, gap)
				}
				instants[l.start.Add(at).Sub(begun)] = true
				last = at
			}
			if last < 2*ttl-every {
				t.Fatalf("extended until %v", last)
			}
		}
		if most := 16 * int(3*ttl/every); len(instants) > most {
			t.Errorf("%d leases were extended at %d instants, want at most %d", leases, len(instants), most)
		}
	})
}

// The pause counts from the begin of an extension, however long that takes.
func TestSlowExtensionsStayOnTheGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := 700 * time.Millisecond
		l := newFakeLease(func(context.Context, int) error {
			time.Sleep(slow)
			return nil
		})
		k := locking.Keep(t.Context(), l, locking.KeepConfig{Every: every, Margin: margin})
		time.Sleep(4*every + time.Second)
		k.Stop()
		if want := []time.Duration{5e9, 10e9, 15e9, 20e9}; !slices.Equal(l.extended, want) {
			t.Errorf("extended at %v, want %v", l.extended, want)
		}
	})
}

// Short work costs neither goroutines nor more than a few allocations.
func TestHoldOfShortWorkIsCheap(t *testing.T) {
	l := newFakeLease(always)
	cfg := locking.KeepConfig{Every: every, Margin: margin}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const most = 8
	if n := testing.AllocsPerRun(100, func() {
		_ = holdWith(ctx, l, cfg, func(context.Context) error { return nil })
	}); n > most {
		t.Errorf("%v allocations, want at most %d", n, most)
	}
}
