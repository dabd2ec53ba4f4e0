package ledger_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestSortEntries(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	want := []ledger.Entry{
		{Tick: late, Outcome: ledger.Skipped},
		{Tick: late, Outcome: ledger.Missed},
		{Tick: late, Order: early.Add(1), Stream: "manual", Token: 7, Outcome: ledger.Succeeded},
		{Tick: early, Token: 9, Outcome: ledger.Interrupted},
		{Tick: early, Token: 8, Outcome: ledger.Succeeded},
		{Tick: early, Outcome: ledger.Skipped},
		{Tick: early, Outcome: ledger.Missed},
		{Tick: late, Order: early, Stream: "manual", Token: 10, Outcome: ledger.Succeeded},
	}
	for range 50 {
		got := slices.Clone(want)
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		ledger.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("sorted as %+v, want %+v", got, want)
		}
	}
	if got := ledger.OnePerTick(slices.Clone(want)); !slices.Equal(got, []ledger.Entry{want[0], want[2], want[3], want[7]}) {
		t.Errorf("one per tick: %+v, want the first of each", got)
	}
}

// An attempt whose replica was lost, or that lost its lease, is not hidden by the next one;
// a hand-over is no interruption.
func TestOnePerTickCountsInterruptions(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	entry := func(token locking.Token, replica string, outcome ledger.Outcome, finished time.Time) ledger.Entry {
		return ledger.Entry{Job: "j", Tick: at, Token: token, Replica: replica, Outcome: outcome, Finished: finished}
	}
	want := entry(5, "e", ledger.Succeeded, at)
	want.Interruptions, want.InterruptedOn = 2, "c"
	got := ledger.OnePerTick([]ledger.Entry{
		entry(5, "e", ledger.Succeeded, at), entry(4, "d", ledger.Interrupted, at),
		entry(3, "c", ledger.Interrupted, time.Time{}), entry(2, "b", ledger.LeaseLost, at), entry(1, "a", ledger.Failed, at),
	})
	if !slices.Equal(got, []ledger.Entry{want}) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What stands for a tick has the stale writes of all its attempts: it is the earlier
// ones that write when they no longer may.
func TestOnePerTickCountsStaleWrites(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	entry := func(at time.Time, token locking.Token, stale int) ledger.Entry {
		return ledger.Entry{Job: "j", Tick: at, Token: token, StaleWrites: stale}
	}
	got := ledger.OnePerTick([]ledger.Entry{
		entry(at, 5, 0), entry(at, 4, 2), entry(at, 3, 1), entry(at.Add(-time.Minute), 2, 0), entry(at.Add(-time.Hour), 1, 7),
	})
	if want := []ledger.Entry{entry(at, 5, 3), entry(at.Add(-time.Minute), 2, 0), entry(at.Add(-time.Hour), 1, 7)}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
