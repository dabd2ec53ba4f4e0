package served

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestVersions(t *testing.T) {
	t.Parallel()
	const mins = time.Minute
	// published is a version that a replica published that long ago.
	published := func(name, hash, replica, set string, ago time.Duration) roster.JobInfo {
		return roster.JobInfo{Name: name, Hash: hash, Replica: replica, ConfigHash: set, Published: noon.Add(-ago), Age: ago}
	}
	renamed := func(j roster.JobInfo, key string) roster.JobInfo {
		j.Key = key
		return j
	}
	live := func(id, set string) roster.Replica {
		return roster.Replica{ID: id, ConfigHash: set, Started: noon.Add(-24 * time.Hour)}
	}
	for _, tt := range []struct {
		name string
		jobs []roster.JobInfo
		live []roster.Replica
		want []string
	}{
		{
			"one version",
			[]roster.JobInfo{published("a", "1", "x", "s1", mins)},
			[]roster.Replica{live("x", "s1"), live("y", "s1")},
			[]string{"a/1 live"},
		},
		{
			"a roll-out",
			[]roster.JobInfo{published("a", "2", "y", "s2", mins), published("a", "1", "gone", "s1", 2*mins)},
			[]roster.Replica{live("x", "s1"), live("y", "s2")},
			[]string{"a/2 live drift", "a/1 live drift"},
		},
		{
			"after it",
			[]roster.JobInfo{published("a", "2", "y", "s2", mins), published("a", "1", "x", "s1", 2*mins)},
			[]roster.Replica{live("x", "s2"), live("y", "s2")},
			[]string{"a/2 live"},
		},
		{
			"an untouched job of a set that changed",
			[]roster.JobInfo{published("a", "1", "x", "s1", mins)},
			[]roster.Replica{live("x", "s2")},
			[]string{"a/1 live"},
		},
		{
			"a rename under way",
			[]roster.JobInfo{published("a", "1", "x", "s1", mins), renamed(published("b", "1", "y", "s2", mins), "a")},
			[]roster.Replica{live("x", "s1"), live("y", "s2")},
			[]string{"a/1 live drift", "b/1 live drift"},
		},
		{
			"a rename done",
			[]roster.JobInfo{published("a", "1", "x", "s1", 2*mins), renamed(published("b", "1", "y", "s2", mins), "a")},
			[]roster.Replica{live("y", "s2")},
			[]string{"b/1 live"},
		},
		{
			"removed, and nobody lives",
			[]roster.JobInfo{published("a", "2", "x", "s2", 60*mins), published("a", "1", "x", "s1", 90*mins)},
			nil,
			[]string{"a/2"},
		},
		{
			"a release that knew no versions",
			[]roster.JobInfo{published("a", "", "x", "", mins), published("b", "1", "y", "s2", mins)},
			[]roster.Replica{live("x", "old"), live("y", "s2")},
			[]string{"a/ live", "b/1 live"},
		},
		{
			"versions of two releases",
			[]roster.JobInfo{published("a", "", "x", "", mins), published("a", "1", "y", "s2", 2*mins)},
			[]roster.Replica{live("x", "old"), live("y", "s2")},
			[]string{"a/1 live"},
		},
	} {
		var got []string
		versions, err := Versions(tt.jobs, tt.live, func(string) (roster.JobSet, error) { return roster.JobSet{}, roster.ErrNoJobSet })
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			line := fmt.Sprintf("%s/%s", v.Name, v.Hash)
			if v.Live {
				line += " live"
			}
			if v.Drift {
				line += " drift"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
