package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/roster"
)

var forgetNow = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

// lastServed is a version of a job that was last served that long ago.
func lastServed(name, hash string, ago time.Duration) roster.JobInfo {
	return roster.JobInfo{Name: name, Hash: hash, Replica: "gone", Published: forgetNow.Add(-ago), Age: ago}
}

// upFor is a replica with that uptime.
func upFor(id string, since time.Duration) roster.Replica {
	return roster.Replica{ID: id, Started: forgetNow.Add(-since)}
}

// forgetterOf is the forgetter of replica r1, which serves the job "own".
func forgetterOf(list roster.Roster, forget func(string) error, told func(string)) Forgetter {
	return Forgetter{
		Replica: "r1", Roster: list, After: 10 * time.Hour,
		Forget: func(_ context.Context, key string) error { return forget(key) },
		Observer: func(e event.Event) {
			told(fmt.Sprintf("%s %s %v %v", e.Kind, e.Entry.Job, forgetNow.Sub(e.Since), e.Err))
		},
		Now:    func() time.Time { return forgetNow },
		Serves: func(key string) bool { return key == "own" },
	}
}

// TestAbandoned: a job is forgotten when no replica has served any version of it for
// ForgetAfter, and none may.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	renamed := lastServed("sweep", "2", 11*time.Hour)
	renamed.Key = "cleanup"
	sameSet := lastServed("j", "1", 11*time.Hour)
	sameSet.ConfigHash = "c1"
	live := []roster.Replica{upFor("r1", 100*time.Hour)}
	live[0].ConfigHash = "c1"
	futureClock := lastServed("j", "1", 11*time.Hour)
	futureClock.Published = forgetNow.Add(-time.Minute)
	for _, tt := range []struct {
		name  string
		known []roster.JobInfo
		want  []string // keys
	}{
		{"nothing is published", nil, nil},
		{"not for long enough", []roster.JobInfo{lastServed("j", "1", 10*time.Hour-time.Second)}, nil},
		{"for long enough", []roster.JobInfo{lastServed("j", "1", 10*time.Hour)}, []string{"j"}},
		{"one version was served lately", []roster.JobInfo{lastServed("j", "1", 11*time.Hour), lastServed("j", "2", 5*time.Hour)}, nil},
		{"under another name it was served lately", []roster.JobInfo{lastServed("cleanup", "1", 5*time.Hour), renamed}, nil},
		{"it has had two names", []roster.JobInfo{lastServed("cleanup", "1", 12*time.Hour), renamed}, []string{"cleanup"}},
		{"a live replica has the same set of jobs", []roster.JobInfo{sameSet}, nil},
		{"this replica serves it, and could not say so", []roster.JobInfo{lastServed("own", "1", 11*time.Hour)}, nil},
		{"by the clock of its replica it was published just now", []roster.JobInfo{futureClock}, nil},
		{"the longest first", []roster.JobInfo{lastServed("a", "1", 11*time.Hour), lastServed("b", "1", 12*time.Hour)}, []string{"b", "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, versions := range forgetterOf(nil, nil, nil).abandoned(tt.known, live, forgetNow) {
				got = append(got, versions[0].StoredAs())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("forgets %v, want %v", got, tt.want)
			}
		})
	}
}

// TestForgetTurns: each hour it is the turn of one replica that does not drain; of none
// while one has just started.
func TestForgetTurns(t *testing.T) {
	t.Parallel()
	draining := upFor("r4", time.Hour)
	draining.State = roster.StateDraining
	live := []roster.Replica{upFor("r1", time.Hour), upFor("r2", time.Hour), upFor("r3", time.Hour), draining}
	turns := map[string]int{}
	for hour := range 300 {
		now := forgetNow.Add(time.Duration(hour) * time.Hour)
		var whose []string
		for _, r := range live[:3] {
			f := Forgetter{Replica: r.ID}
			if f.mine(live, now.Add(time.Minute)) && f.mine(live, now.Add(59*time.Minute)) {
				whose = append(whose, r.ID)
			}
			if f.mine(append(slices.Clone(live), roster.Replica{ID: "new", Started: now.Add(-time.Minute)}), now) {
				t.Fatalf("%s forgets while another has just started", r.ID)
			}
		}
		if len(whose) != 1 {
			t.Fatalf("in hour %d it is the turn of %v", hour, whose)
		}
		turns[whose[0]]++
	}
	for _, r := range live[:3] {
		if n := turns[r.ID]; n < 60 {
			t.Errorf("%s has %d turns of 300", r.ID, n)
		}
	}
}

// TestForgetLook: one check forgets a limited number of jobs. A job in use stays on the
// list. Without a quorum the check ends; without the live replicas it does not begin.
func TestForgetLook(t *testing.T) {
	t.Parallel()
	calls := &rollCall{list: []roster.Replica{upFor("r1", time.Hour)}}
	for i := range 2 * forgetAtOnce {
		calls.listed = append(calls.listed, lastServed(fmt.Sprintf("j%02d", i), "1", time.Duration(100-i)*time.Hour))
	}
	refuse := map[string]error{"j01": locking.ErrTaken}
	var asked, told []string
	f := forgetterOf(calls, func(key string) error {
		asked = append(asked, key)
		return refuse[key]
	}, func(text string) { told = append(told, text) })

	f.check(t.Context())
	if len(asked) != forgetAtOnce || len(told) != forgetAtOnce || len(calls.taken) != forgetAtOnce-1 {
		t.Errorf("one look forgets %v, tells %v, takes %v off the list", asked, told, calls.taken)
	}
	if want := []string{"forgotten j00 100h0m0s <nil>", "forgotten j01 99h0m0s " + locking.ErrTaken.Error()}; !slices.Equal(told[:2], want) {
		t.Errorf("the observer is told %q, want %q", told[:2], want)
	}
	if slices.ContainsFunc(calls.taken, func(j roster.JobInfo) bool { return j.Name == "j01" }) {
		t.Error("a job that was not forgotten is taken off the list")
	}
	asked, refuse["j02"] = nil, locking.ErrNoQuorum
	f.check(t.Context())
	if want := []string{"j00", "j01", "j02"}; !slices.Equal(asked, want) {
		t.Errorf("without a quorum it asks for %v, want %v", asked, want)
	}
	asked = nil
	calls.answer(calls.list, errors.New("no quorum"))
	f.check(t.Context())
	if len(asked) > 0 {
		t.Errorf("when nobody knows who lives it forgets %v", asked)
	}
}
