package presence

import (
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/roster"
)

// Replicas with skewed clocks rank last on every replica, in the usual order among
// themselves. Those ahead wait for as long as they are ahead.
func TestSkewedReplicasRankLast(t *testing.T) {
	t.Parallel()
	names := []string{"host-0", "host-1", "host-2", "host-3", "host-4"}
	for i := range 200 {
		tick := time.UnixMilli(int64(i) * 60_000)
		live := make([]roster.Replica, len(names))
		for n, name := range names {
			live[n] = roster.Replica{ID: name, State: roster.StateReady}
		}
		ahead := 3 * time.Second
		live[1].State, live[1].ClockOffset = roster.StateSkewed, &ahead
		behind := -time.Hour
		live[3].State, live[3].ClockOffset = roster.StateSkewed, &behind
		taken := map[int]bool{}
		for _, self := range names {
			rank, eligible, lead := RankAmong("job", tick, self, nil, live)
			taken[rank] = true
			if off := self == names[1] || self == names[3]; off != (rank >= 3) || eligible != 5 {
				t.Fatalf("tick %d: %s has rank %d of %d", i, self, rank, eligible)
			}
			if want := map[bool]time.Duration{true: ahead}[self == names[1]]; lead != want {
				t.Errorf("%s waits %v, want %v", self, lead, want)
			}
		}
		if len(taken) != 5 {
			t.Fatalf("tick %d: ranks %v", i, taken)
		}
	}
	late := 3 * time.Second
	alone := []roster.Replica{{ID: "a", State: roster.StateSkewed, ClockOffset: &late}}
	if rank, _, lead := RankAmong("job", time.UnixMilli(0), "a", nil, alone); rank != 0 || lead != 0 {
		t.Errorf("alone it has rank %d and waits %v", rank, lead)
	}
}

func TestEligible(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	replicas := []roster.Replica{
		{ID: "none"},
		{ID: "a", Labels: labels{"zone": "a"}},
		{ID: "b", Labels: labels{"zone": "b", "gpu": "yes"}},
		{ID: "empty", Labels: labels{"zone": ""}},
	}
	tests := []struct {
		name  string
		wants labels
		ids   []string
	}{
		{"no label", nil, []string{"none", "a", "b", "empty"}},
		{"one", labels{"zone": "a"}, []string{"a"}},
		{"all of them", labels{"zone": "b", "gpu": "yes"}, []string{"b"}},
		{"not only some", labels{"zone": "a", "gpu": "yes"}, nil},
		{"an empty one is not a missing one", labels{"zone": ""}, []string{"empty"}},
	}
	for _, tt := range tests {
		if got := Eligible(replicas, tt.wants); !slices.Equal(got, tt.ids) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.ids)
		}
	}
	if got := job.LabelText(labels{"zone": "a", "gpu": "yes"}); got != "gpu=yes, zone=a" {
		t.Errorf("labels read %q", got)
	}
}
