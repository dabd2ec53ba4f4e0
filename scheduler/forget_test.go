package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

var forgetNow = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

// lastServed is a version of a job that was last served that long ago.
func lastServed(name, hash string, ago time.Duration) JobInfo {
	return JobInfo{Name: name, Hash: hash, Replica: "gone", Published: forgetNow.Add(-ago), Age: ago}
}

// upFor is a replica with that uptime.
func upFor(id string, since time.Duration) Replica {
	return Replica{ID: id, Started: forgetNow.Add(-since)}
}

// forgetterOf is the forgetter of replica r1, which serves the job "own".
func forgetterOf(roster Roster, forget func(string) error, told func(string)) forgetter {
	cfg := validConfig()
	cfg.Replica, cfg.Roster, cfg.ForgetAfter = "r1", roster, 10*time.Hour
	cfg.Forget = func(_ context.Context, key string) error { return forget(key) }
	cfg.Observer = func(e Event) {
		told(fmt.Sprintf("%s %s %v %v", e.Kind, e.Entry.Job, forgetNow.Sub(e.Since), e.Err))
	}
	return forgetter{cfg, func() time.Time { return forgetNow }, func(key string) bool { return key == "own" }}
}

// TestAbandoned: a job is forgotten when no replica has served any version of it for
// ForgetAfter, and none may.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	renamed := lastServed("sweep", "2", 11*time.Hour)
	renamed.Key = "cleanup"
	sameSet := lastServed("j", "1", 11*time.Hour)
	sameSet.ConfigHash = "c1"
	live := []Replica{upFor("r1", 100*time.Hour)}
	live[0].ConfigHash = "c1"
	futureClock := lastServed("j", "1", 11*time.Hour)
	futureClock.Published = forgetNow.Add(-time.Minute)
	for _, tt := range []struct {
		name  string
		known []JobInfo
		want  []string // keys
	}{
		{"nothing is published", nil, nil},
		{"not for long enough", []JobInfo{lastServed("j", "1", 10*time.Hour-time.Second)}, nil},
		{"for long enough", []JobInfo{lastServed("j", "1", 10*time.Hour)}, []string{"j"}},
		{"one version was served lately", []JobInfo{lastServed("j", "1", 11*time.Hour), lastServed("j", "2", 5*time.Hour)}, nil},
		{"under another name it was served lately", []JobInfo{lastServed("cleanup", "1", 5*time.Hour), renamed}, nil},
		{"it has had two names", []JobInfo{lastServed("cleanup", "1", 12*time.Hour), renamed}, []string{"cleanup"}},
		{"a live replica has the same set of jobs", []JobInfo{sameSet}, nil},
		{"this replica serves it, and could not say so", []JobInfo{lastServed("own", "1", 11*time.Hour)}, nil},
		{"by the clock of its replica it was published just now", []JobInfo{futureClock}, nil},
		{"the longest first", []JobInfo{lastServed("a", "1", 11*time.Hour), lastServed("b", "1", 12*time.Hour)}, []string{"b", "a"}},
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
	draining.State = StateDraining
	live := []Replica{upFor("r1", time.Hour), upFor("r2", time.Hour), upFor("r3", time.Hour), draining}
	turns := map[string]int{}
	for hour := range 300 {
		now := forgetNow.Add(time.Duration(hour) * time.Hour)
		var whose []string
		for _, r := range live[:3] {
			f := forgetter{cfg: Config{Replica: r.ID}}
			if f.mine(live, now.Add(time.Minute)) && f.mine(live, now.Add(59*time.Minute)) {
				whose = append(whose, r.ID)
			}
			if f.mine(append(slices.Clone(live), Replica{ID: "new", Started: now.Add(-time.Minute)}), now) {
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
	roster := &rollCall{list: []Replica{upFor("r1", time.Hour)}}
	for i := range 2 * forgetAtOnce {
		roster.listed = append(roster.listed, lastServed(fmt.Sprintf("j%02d", i), "1", time.Duration(100-i)*time.Hour))
	}
	refuse := map[string]error{"j01": locking.ErrTaken}
	var asked, told []string
	f := forgetterOf(roster, func(key string) error {
		asked = append(asked, key)
		return refuse[key]
	}, func(text string) { told = append(told, text) })

	f.check(t.Context())
	if len(asked) != forgetAtOnce || len(told) != forgetAtOnce || len(roster.taken) != forgetAtOnce-1 {
		t.Errorf("one look forgets %v, tells %v, takes %v off the list", asked, told, roster.taken)
	}
	if want := []string{"forgotten j00 100h0m0s <nil>", "forgotten j01 99h0m0s " + locking.ErrTaken.Error()}; !slices.Equal(told[:2], want) {
		t.Errorf("the observer is told %q, want %q", told[:2], want)
	}
	if slices.ContainsFunc(roster.taken, func(j JobInfo) bool { return j.Name == "j01" }) {
		t.Error("a job that was not forgotten is taken off the list")
	}
	asked, refuse["j02"] = nil, locking.ErrNoQuorum
	f.check(t.Context())
	if want := []string{"j00", "j01", "j02"}; !slices.Equal(asked, want) {
		t.Errorf("without a quorum it asks for %v, want %v", asked, want)
	}
	asked = nil
	roster.answer(roster.list, errors.New("no quorum"))
	f.check(t.Context())
	if len(asked) > 0 {
		t.Errorf("when nobody knows who lives it forgets %v", asked)
	}
}
