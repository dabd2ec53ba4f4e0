package roster

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestVersions(t *testing.T) {
	t.Parallel()
	const mins = time.Minute
	// published is a version that a replica published that long ago.
	published := func(name, hash, replica, set string, ago time.Duration) JobInfo {
		return JobInfo{Name: name, Hash: hash, Replica: replica, ConfigHash: set, Published: noon.Add(-ago), Age: ago}
	}
	renamed := func(j JobInfo, key string) JobInfo {
		j.Key = key
		return j
	}
	live := func(id, set string) Replica {
		return Replica{ID: id, ConfigHash: set, Started: noon.Add(-24 * time.Hour)}
	}
	for _, tt := range []struct {
		name string
		jobs []JobInfo
		live []Replica
		want []string
	}{
		{
			"one version",
			[]JobInfo{published("a", "1", "x", "s1", mins)},
			[]Replica{live("x", "s1"), live("y", "s1")},
			[]string{"a/1 live"},
		},
		{
			"a roll-out",
			[]JobInfo{published("a", "2", "y", "s2", mins), published("a", "1", "gone", "s1", 2*mins)},
			[]Replica{live("x", "s1"), live("y", "s2")},
			[]string{"a/2 live drift", "a/1 live drift"},
		},
		{
			"after it",
			[]JobInfo{published("a", "2", "y", "s2", mins), published("a", "1", "x", "s1", 2*mins)},
			[]Replica{live("x", "s2"), live("y", "s2")},
			[]string{"a/2 live"},
		},
		{
			"an untouched job of a set that changed",
			[]JobInfo{published("a", "1", "x", "s1", mins)},
			[]Replica{live("x", "s2")},
			[]string{"a/1 live"},
		},
		{
			"a rename under way",
			[]JobInfo{published("a", "1", "x", "s1", mins), renamed(published("b", "1", "y", "s2", mins), "a")},
			[]Replica{live("x", "s1"), live("y", "s2")},
			[]string{"a/1 live drift", "b/1 live drift"},
		},
		{
			"a rename done",
			[]JobInfo{published("a", "1", "x", "s1", 2*mins), renamed(published("b", "1", "y", "s2", mins), "a")},
			[]Replica{live("y", "s2")},
			[]string{"b/1 live"},
		},
		{
			"removed, and nobody incarnations",
			[]JobInfo{published("a", "2", "x", "s2", 60*mins), published("a", "1", "x", "s1", 90*mins)},
			nil,
			[]string{"a/2"},
		},
		{
			"a release that knew no versions",
			[]JobInfo{published("a", "", "x", "", mins), published("b", "1", "y", "s2", mins)},
			[]Replica{live("x", "old"), live("y", "s2")},
			[]string{"a/ live", "b/1 live"},
		},
		{
			"versions of two releases",
			[]JobInfo{published("a", "", "x", "", mins), published("a", "1", "y", "s2", 2*mins)},
			[]Replica{live("x", "old"), live("y", "s2")},
			[]string{"a/1 live"},
		},
	} {
		var got []string
		for _, v := range Versions(tt.jobs, tt.live, nil) {
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
