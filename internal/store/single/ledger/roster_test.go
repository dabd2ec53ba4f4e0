package ledger

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/roster"
)

// The record of a dead replica goes with the heartbeats of others, and a version that nobody
// has served for long with a listing.
func TestWhatNobodyNeedsIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := fresh(t)
		r := NewRoster(m)
		beat := func(id string) {
			if _, err := r.Beat(t.Context(), roster.Replica{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		stored := func(kind kv.Kind, want int) {
			t.Helper()
			if lists, _, err := m.List(t.Context(), kv.All(kind)); err != nil || len(lists[0]) != want {
				t.Errorf("%d records of kind %s are stored, %v, want %d", len(lists[0]), kind, err, want)
			}
		}
		beat("dead")
		time.Sleep(2 * r.lately)
		beat("alive")
		stored(kv.Members, 2)
		time.Sleep(roster.RememberLost)
		beat("alive")
		stored(kv.Members, 1)

		if err := r.Publish(t.Context(), []roster.JobInfo{{Name: "old", Hash: "1"}}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 0} {
			if list, err := r.Jobs(t.Context()); err != nil || len(list) != want {
				t.Errorf("%d versions are listed, %v, want %d", len(list), err, want)
			}
			time.Sleep(listing.KeepJobs)
		}
		stored(kv.Jobs, 0)
	})
}

// Of replicas that left so many are kept, the last ones, and none for more than a day: a heartbeat of
// another replica deletes them, a few at a time. A member is not among them.
func TestThoseThatLeftAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := fresh(t)
		r := NewRoster(m)
		const last = roster.MostLeft + 30
		for n := range last + 1 {
			time.Sleep(time.Millisecond)
			if err := r.Leave(t.Context(), roster.Replica{ID: fmt.Sprint("r", n)}); err != nil {
				t.Fatal(err)
			}
		}
		kept := func(stored, listed int) {
			t.Helper()
			lists, _, err := m.List(t.Context(), kv.Of(kv.Cluster, leftName), kv.All(kv.Members))
			list, err2 := r.Left(t.Context())
			if err != nil || err2 != nil || len(lists[0]) != stored || len(list) != listed {
				t.Fatalf("%d are stored and %d listed, %v, %v, want %d and %d", len(lists[0]), len(list), err, err2, stored, listed)
			}
			if listed > 0 && (list[0].ID != fmt.Sprint("r", last) || list[listed-1].ID != fmt.Sprint("r", last-listed+1)) {
				t.Errorf("listed are %s to %s", list[0].ID, list[listed-1].ID)
			}
		}
		kept(roster.MostLeft, roster.MostLeft)
		time.Sleep(roster.RememberLeft - roster.MostLeft/2*time.Millisecond)
		kept(roster.MostLeft, roster.MostLeft/2)
		for stored := roster.MostLeft - buriedAtOnce; ; stored -= buriedAtOnce {
			if _, err := r.Beat(t.Context(), roster.Replica{ID: "alive"}); err != nil {
				t.Fatal(err)
			}
			kept(max(stored, roster.MostLeft/2), roster.MostLeft/2)
			if stored < 0 {
				break
			}
		}
	})
}

// Another incarnation between the listing and the commit of a heartbeat costs a second try.
func TestBeatInAnotherIncarnation(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	r := NewRoster(m)
	m.Fault = onCommit(func() { m.Fault = nil; m.Restore(m.Backup()) })
	if list, err := r.Beat(t.Context(), roster.Replica{ID: "a"}); err != nil || len(list) != 1 {
		t.Errorf("Beat = %+v, %v", list, err)
	}
}

// No time of an account but the first may be ahead of the store's clock.
func TestAccountsAreNotAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := fresh(t)
		r := NewRoster(m)
		now := time.Now().UTC()
		ahead := now.Add(time.Hour)
		v := roster.JobInfo{Name: "job", Account: roster.Account{First: ahead, Until: ahead, Stopped: ahead, Removed: ahead}}
		if err := r.Publish(t.Context(), []roster.JobInfo{v}); err != nil {
			t.Fatal(err)
		}
		list, err := r.Jobs(t.Context())
		if want := (roster.Account{First: ahead, Until: now, Stopped: now, Removed: now}); err != nil || list[0].Account != want {
			t.Errorf("Jobs = %+v, %v, want the account %+v", list, err, want)
		}
	})
}

// onCommit is a fault that does something before the next commit.
func onCommit(do func()) func(context.Context, kvtest.Call) error {
	return func(_ context.Context, call kvtest.Call) error {
		if call.Method == "Commit" && !call.Answered {
			do()
		}
		return nil
	}
}
