package view_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// seenLately are the replicas that a roster knows.
type seenLately struct {
	store.Roster
	list, left []roster.Replica
}

func (s seenLately) Remembered(context.Context) ([]roster.Replica, error) { return s.list, nil }

// What is said of live replicas beside each other names all of them, and each job once. A lost one is
// beside nobody.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	long := time.Now().Add(-time.Hour)
	replica := func(id string, pid int, state string) roster.Replica {
		return roster.Replica{ID: id, Instance: fmt.Sprint(pid), PID: pid, Host: "h", State: state, Started: long, ConfigSince: long}
	}
	r := view.Reader{Records: store.Records{Roster: seenLately{list: []roster.Replica{
		replica("a", 1, roster.StateReady), replica("b", 2, roster.StateReady), replica("b", 3, roster.StateReady),
		replica("c", 4, roster.StateReady), replica("c", 5, roster.StateLost), replica("d", 6, roster.StateReady),
	}}}}
	rows, err := r.Replicas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	twins := view.TwinsText + ": b (process 2 on h) and b (process 3 on h)"
	if said := view.Neighbours(rows); len(said) != 1 || said[0] != twins {
		t.Errorf("said %q, want %q", said, twins)
	}
	rows[0].Strangers, rows[5].Strangers = []string{"mails", "invoices"}, []string{"invoices"}
	strangers := view.StrangersText + ": a (process 1 on h) and d (process 6 on h) serve invoices and mails"
	if said := view.Neighbours(rows); len(said) != 2 || said[0] != twins || said[1] != strangers {
		t.Errorf("said %q, want also %q", said, strangers)
	}
}

func (s seenLately) Left(context.Context) ([]roster.Replica, error) { return s.left, nil }

// One that came back under its ID, or that died there later, is not listed as left.
func TestLeft(t *testing.T) {
	t.Parallel()
	now := time.Now()
	replica := func(id, state string, ago time.Duration) roster.Replica {
		return roster.Replica{ID: id, State: state, Seen: now.Add(-ago)}
	}
	r := view.Reader{Records: store.Records{Roster: seenLately{
		list: []roster.Replica{
			replica("back", roster.StateReady, 0), replica("died later", roster.StateLost, time.Minute), replica("died before", roster.StateLost, time.Hour),
		},
		left: []roster.Replica{
			replica("back", roster.StateLeft, 2*time.Minute), replica("died later", roster.StateLeft, 3*time.Minute),
			replica("died before", roster.StateLeft, 4*time.Minute), replica("gone", roster.StateLeft, 5*time.Minute),
		},
	}}}
	rows, err := r.Left(t.Context())
	if err != nil || len(rows) != 2 || rows[0].ID != "died before" || rows[1].ID != "gone" || rows[1].State != roster.StateLeft {
		t.Errorf("Left = %+v, %v", rows, err)
	}
}

// TestSkewedReplicaIsShownByTheNodesClocks: a live replica was seen just now, whatever its
// own clock shows, and its row has the offset.
func TestSkewedReplicaIsShownByTheNodesClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	for by, want := range map[time.Duration]string{-time.Hour: "has a clock 1h0m0s behind", 3 * time.Second: "has a clock 3s ahead"} {
		row := view.NewReplica(roster.Replica{
			ID: "a", State: roster.StateSkewed, ClockOffset: &by,
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
	if row := view.NewReplica(roster.Replica{ID: "a", State: roster.StateWaiting, ClockOffset: &by, Seen: now.Add(by)}); !view.Time(row.Seen).Equal(now) {
		t.Errorf("one that waits was seen %s", view.Text(row.Seen))
	}
	if got := (view.Replica{State: roster.StateDraining}).Problem(); got != "is draining" {
		t.Errorf("draining: %q", got)
	}
}

// countedSets count the reads of sets of jobs.
type countedSets struct {
	roster.JobSets
	reads int
}

func (s *countedSets) JobSet(ctx context.Context, hash string) ([]byte, error) {
	s.reads++
	return s.JobSets.JobSet(ctx, hash)
}

// Which jobs a replica alone may run is not read again at each look: a set of jobs never changes.
func TestAloneIsReadOnce(t *testing.T) {
	t.Parallel()
	peers := new(schedtest.Roster)
	sets := &countedSets{JobSets: peers}
	r := view.Reader{Records: store.Records{Roster: peers, JobSets: sets}, Cache: &view.DirectoryCache{}}
	for id, labels := range map[string]map[string]string{"a": nil, "b": {"gpu": "yes"}} {
		if _, err := peers.Beat(t.Context(), roster.Replica{ID: id, State: roster.StateReady, ConfigHash: "c", Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	look := func() []view.Replica {
		t.Helper()
		rows, err := r.Replicas(t.Context())
		if err != nil || len(rows) != 2 {
			t.Fatal(rows, err)
		}
		return rows
	}
	if rows := look(); rows[0].Alone != nil || sets.reads != 1 {
		t.Errorf("before the set is known: %q after %d reads", rows[0].Alone, sets.reads)
	}
	packed, err := roster.PackJobs(1, slices.Values([]roster.JobText{{Key: "draw", Name: "draw", Settings: map[string]any{"labels": map[string]any{"gpu": "yes"}}}}))
	if err == nil {
		err = peers.KeepSet(t.Context(), "c", packed)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if rows := look(); !slices.Equal(rows[1].Alone, []string{"draw"}) || rows[0].Alone == nil || sets.reads != 2 {
			t.Errorf("%q and %q after %d reads", rows[0].Alone, rows[1].Alone, sets.reads)
		}
	}
}
