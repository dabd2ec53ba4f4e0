package view_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler"
)

// TestSkewedReplicaIsShownByTheNodesClocks: a live replica was seen just now, whatever its
// own clock shows, and its row has the offset.
func TestSkewedReplicaIsShownByTheNodesClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	for by, want := range map[time.Duration]string{-time.Hour: "has a clock 1h0m0s behind", 3 * time.Second: "has a clock 3s ahead"} {
		row := view.NewReplica(scheduler.Replica{
			ID: "a", State: scheduler.StateSkewed, ClockOffset: &by,
			Started: now.Add(by - time.Minute), Seen: now.Add(by - time.Second), ConfigSince: now.Add(by - time.Minute),
		})
		if seen := view.Time(row.Seen); !seen.Equal(now.Add(-time.Second)) || !view.Time(row.Started).Equal(now.Add(-time.Minute)) {
			t.Errorf("%v off: seen %v, started %s", by, seen, view.Text(row.Started))
		}
		if row.Problem() != want {
			t.Errorf("%v off: %q, want %q", by, row.Problem(), want)
		}
	}
	by := -time.Hour
	if row := view.NewReplica(scheduler.Replica{ID: "a", State: scheduler.StateWaiting, ClockOffset: &by, Seen: now.Add(by)}); !view.Time(row.Seen).Equal(now) {
		t.Errorf("one that waits was seen %s", view.Text(row.Seen))
	}
	if got := (view.Replica{State: scheduler.StateDraining}).Problem(); got != "is draining" {
		t.Errorf("draining: %q", got)
	}
}
