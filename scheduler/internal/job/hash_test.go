package job

import (
	"reflect"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
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
		hash := hash(jobs.Job{Name: "j", Schedule: s})
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
	base := jobs.Job{Name: "a", Schedule: schedule.Every{Interval: 24 * time.Hour}, Timeout: time.Minute, Labels: map[string]string{"x": "1", "y": "2"}}
	want := hash(base)
	for name, change := range map[string]func(*jobs.Job){
		"nothing":  func(*jobs.Job) {},
		"its name": func(j *jobs.Job) { j.Name = "b" },
		"its key":  func(j *jobs.Job) { j.Key = "b" },
	} {
		j := base
		if change(&j); hash(j) != want {
			t.Errorf("%s changes the hash", name)
		}
	}
	seen := map[string]string{want: "nothing"}
	for name, change := range map[string]func(*jobs.Job){
		"schedule": func(j *jobs.Job) { j.Schedule = schedule.Every{Interval: time.Hour} },
		"timeout":  func(j *jobs.Job) { j.Timeout = time.Hour },
		"overlap":  func(j *jobs.Job) { j.Overlap = jobs.OverlapQueue },
		"labels":   func(j *jobs.Job) { j.Labels = map[string]string{"x": "1"} },
		"spec":     func(j *jobs.Job) { j.Spec = "@daily" },
		"a word":   func(j *jobs.Job) { j.Hash = "v2" },
	} {
		j := base
		change(&j)
		if other, ok := seen[hash(j)]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[hash(j)] = name
	}
}

// A new release must not give an unchanged job another hash: during a roll-out it would be another
// version of the job.
func TestHashIsPinned(t *testing.T) {
	t.Parallel()
	daily := schedule.Every{Interval: 24 * time.Hour}
	full := jobs.Job{
		Name: "a", Key: "k", Schedule: daily, Timeout: time.Minute, Jitter: time.Second, Overlap: jobs.OverlapQueue,
		CatchUp: jobs.CatchUp{Mode: jobs.CatchUpAll, Max: 3}, OnCrash: jobs.CrashRerun, Retry: jobs.Retry{Attempts: 2, Backoff: time.Second},
		Labels: map[string]string{"x": "1", "y": "<2>"}, Group: "g", GroupSize: 2, Priority: 3, Tags: []string{"t"}, Paused: true,
		OnSuccess: []string{"b"}, LateAfter: time.Hour, History: jobs.History{Keep: 5}, Func: "f", Spec: "@daily", Timezone: "UTC", Description: "d",
	}
	for want, j := range map[string]jobs.Job{"cc05ebd68e2a": {Name: "a", Schedule: daily}, "dcdb443543d1": full} {
		if got := hash(j); got != want {
			t.Errorf("%+v: %s, want %s", j, got, want)
		}
	}
	with := full
	if with.Params = map[string]any{"a": 1}; hash(with) == hash(full) {
		t.Error("params do not count")
	}
	if fields := reflect.TypeFor[jobs.Job]().NumField(); fields != len(hashed)+7 {
		t.Errorf("a job has %d fields, of which 6 are in no hash, and Params only if there are some: add a new one to hashed, so that it does not count while it is zero", fields)
	}
}
