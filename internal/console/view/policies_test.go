package view_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// Policies are said in words; what is not known or not set is left out.
func TestPoliciesInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]view.Fact{
		`{}`: nil,
		`{"timeout": "1h", "overlap": "skip", "catch_up": {"mode": "none", "window": "1h", "max": 100}, "on_crash": "skip", "retry": {"attempts": 1, "backoff": "1s"}, "history": {"keep": 1000}}`: {
			{"A tick during a run", "waits a moment, then is skipped"},
			{"Ticks that no replica could run", "are missed"},
			{"A run whose replica dies", "is not repeated"},
			{"Timeout", "1 h"},
			{"After an error", "is not called again"},
			{"Kept", "1000 ticks"},
		},
		`{"overlap": "allow", "catch_up": {"mode": "all", "window": "30m", "max": 7}, "on_crash": "rerun", "retry": {"attempts": 3, "backoff": "2s", "max_backoff": "1m"}, "late_after": "5m",
		  "labels": {"zone": "a", "gpu": "yes"}, "group": "db", "priority": 0, "on_success": ["x"], "on_failure": ["y", "z"], "history": {"keep": 10, "max_age": "48h"}}`: {
			{"A tick during a run", "runs beside it"},
			{"Ticks that no replica could run", "run later, up to 30 min late, the newest 7"},
			{"A run whose replica dies", "is repeated elsewhere"},
			{"After an error", "is called again, 3 times in all; pauses from 2.0 s to 1 min"},
			{"Late", "if it starts 5 min after its time"},
			{"Only on replicas with", "gpu=yes, zone=a"},
			{"Shares the limit of", "db"},
			{"A success triggers", "x"},
			{"A failure triggers", "y and z"},
			{"Kept", "10 ticks, none older than 2 days"},
		},
		`{"overlap": "of a later release", "timeout": "forever"}`: nil,
	} {
		var p view.Policies
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if got := p.InWords(); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v, want\n%v", text, got, want)
		}
	}
	if p := (view.Policies{Timeout: "90s"}); p.Limit() != 90*time.Second {
		t.Errorf("the limit is %v", p.Limit())
	}
}

// Policies are those of the version that was asked for, if its set is known.
func TestPoliciesOfAVersion(t *testing.T) {
	t.Parallel()
	sets := new(schedtest.Roster)
	packed, err := roster.PackJobs(1, slices.Values([]roster.JobText{{Name: "new", Key: "j", Hash: "h1", Settings: map[string]any{"timeout": "30m"}}}))
	if err != nil || sets.KeepSet(t.Context(), "c1", packed) != nil {
		t.Fatal(err)
	}
	r := view.Reader{Records: store.Records{JobSets: sets}}
	for _, c := range []struct {
		j    roster.JobInfo
		want string
	}{
		{roster.JobInfo{Name: "new", Key: "j", Hash: "h1", ConfigHash: "c1"}, "30m"},
		{roster.JobInfo{Name: "new", Key: "j", Hash: "h2", ConfigHash: "c1"}, ""},
		{roster.JobInfo{Name: "new", Hash: "h1", ConfigHash: "c1"}, ""},
		{roster.JobInfo{Name: "new", Key: "j", Hash: "h1", ConfigHash: "c2"}, ""},
	} {
		if p, err := r.Policies(t.Context(), c.j); err != nil || p.Timeout != c.want {
			t.Errorf("%+v: the timeout is %q, %v, want %q", c.j, p.Timeout, err, c.want)
		}
	}
}
