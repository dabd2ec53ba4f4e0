package served

import (
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

func TestServedBy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	up := func(id string, since time.Duration) roster.Replica {
		return roster.Replica{ID: id, Started: now.Add(-since)}
	}
	sameSet := roster.Replica{ID: "b", Started: now.Add(-time.Second), ConfigHash: "c1"}
	for _, tt := range []struct {
		name      string
		published time.Duration // ago, by replica a
		live      []roster.Replica
		want      string
	}{
		{"nobody lives", time.Minute, nil, ""},
		{"its publisher lives", time.Minute, []roster.Replica{up("b", time.Hour), up("a", time.Hour), up("c", time.Hour)}, "a"},
		{"its publisher has gone, another may serve it", time.Minute, []roster.Replica{up("b", time.Hour)}, "b"},
		{"its publisher came back without it", time.Minute, []roster.Replica{up("a", time.Second)}, ""},
		{"all were restarted since", time.Minute, []roster.Replica{up("b", time.Second), up("c", 30*time.Second)}, ""},
		{"one was not restarted", time.Minute, []roster.Replica{up("a", time.Second), up("b", time.Hour)}, "b"},
		{"whoever serves it would have published it again", 2*PublishEvery + time.Second, []roster.Replica{up("a", time.Hour)}, ""},
		{"somebody says that it serves the same set of jobs", time.Hour, []roster.Replica{up("a", time.Hour), sameSet}, "b"},
	} {
		j := roster.JobInfo{Name: "x", Replica: "a", ConfigHash: "c1", Published: now.Add(-tt.published)}
		if got := servedBy(j, tt.live, now); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
