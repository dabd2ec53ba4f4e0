package scheduler_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

func TestSortEntries(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	want := []scheduler.Entry{
		{Tick: late, Outcome: scheduler.Skipped},
		{Tick: late, Outcome: scheduler.Missed},
		{Tick: late, Order: early.Add(1), Stream: "manual", Token: 7, Outcome: scheduler.Succeeded},
		{Tick: early, Token: 9, Outcome: scheduler.Interrupted},
		{Tick: early, Token: 8, Outcome: scheduler.Succeeded},
		{Tick: early, Outcome: scheduler.Skipped},
		{Tick: early, Outcome: scheduler.Missed},
		{Tick: late, Order: early, Stream: "manual", Token: 10, Outcome: scheduler.Succeeded},
	}
	for range 50 {
		got := slices.Clone(want)
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		scheduler.SortEntries(got)
		if !slices.Equal(got, want) {
			t.Fatalf("sorted as %+v, want %+v", got, want)
		}
	}
	if got := scheduler.OnePerTick(slices.Clone(want)); !slices.Equal(got, []scheduler.Entry{want[0], want[2], want[3], want[7]}) {
		t.Errorf("one per tick: %+v, want the first of each", got)
	}
}

// What stands for a tick has the stale writes of all its attempts: it is the earlier
// ones that write when they no longer may.
func TestOnePerTickCountsStaleWrites(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	entry := func(at time.Time, token locking.Token, stale int) scheduler.Entry {
		return scheduler.Entry{Job: "j", Tick: at, Token: token, StaleWrites: stale}
	}
	got := scheduler.OnePerTick([]scheduler.Entry{
		entry(at, 5, 0), entry(at, 4, 2), entry(at, 3, 1), entry(at.Add(-time.Minute), 2, 0), entry(at.Add(-time.Hour), 1, 7),
	})
	if want := []scheduler.Entry{entry(at, 5, 3), entry(at.Add(-time.Minute), 2, 0), entry(at.Add(-time.Hour), 1, 7)}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
