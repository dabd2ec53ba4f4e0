package job

import (
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// Jobs made in Go without a Spec are distinguished by their schedules.
func TestHashSeesSchedules(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, spec := range []string{"0 0 * * *", "0 0 2 3 *", "0 0 * * 1-5", "@every 24h", "@at 2026-12-01T00:00:00Z", "@at 2031-01-01T00:00:00Z"} {
		s, err := schedule.Parse(spec, schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		hash := (&Definition{Name: "j", Schedule: s}).hash()
		if other, same := seen[hash]; same && (spec != "@every 24h" || other != "0 0 * * *") { // these two have the same ticks
			t.Errorf("%q and %q have the same hash", spec, other)
		}
		seen[hash] = spec
	}
}

// TestHash: the hash of a job covers everything that changes its behaviour, and nothing
// else.
func TestHash(t *testing.T) {
	t.Parallel()
	base := Definition{Name: "a", Schedule: schedule.Every{Interval: 24 * time.Hour}, Timeout: time.Minute, Labels: map[string]string{"x": "1", "y": "2"}}
	want := base.hash()
	for name, change := range map[string]func(*Definition){
		"nothing":  func(*Definition) {},
		"its name": func(j *Definition) { j.Name = "b" },
		"its key":  func(j *Definition) { j.Key = "b" },
	} {
		j := base
		if change(&j); j.hash() != want {
			t.Errorf("%s changes the hash", name)
		}
	}
	seen := map[string]string{want: "nothing"}
	for name, change := range map[string]func(*Definition){
		"schedule": func(j *Definition) { j.Schedule = schedule.Every{Interval: time.Hour} },
		"timeout":  func(j *Definition) { j.Timeout = time.Hour },
		"overlap":  func(j *Definition) { j.Overlap = OverlapQueue },
		"labels":   func(j *Definition) { j.Labels = map[string]string{"x": "1"} },
		"spec":     func(j *Definition) { j.Spec = "@daily" },
		"a word":   func(j *Definition) { j.Hash = "v2" },
	} {
		j := base
		change(&j)
		if other, ok := seen[j.hash()]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[j.hash()] = name
	}
}
