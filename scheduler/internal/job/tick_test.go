package job

import (
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/schedule"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Windows last from start to start.
func TestScheduledTicks(t *testing.T) {
	t.Parallel()
	const window = 30 * time.Second
	once := mustParse(t, "@at 2026-11-21T12:00:00Z", "UTC")
	second := schedule.Every{Interval: time.Second}
	jittered := func(at time.Time) time.Time { return at.Add(Jitter("j", at, time.Second)) }
	tests := []struct {
		name         string
		job          jobs.Job
		start, until time.Time
	}{
		{"until the next tick", jobs.Job{Name: "j", Schedule: second}, noon, noon.Add(time.Second)},
		{"until the window's end", jobs.Job{Name: "j", Schedule: schedule.Every{Interval: 24 * time.Hour}}, noon, noon.Add(window)},
		{"the last tick", jobs.Job{Name: "j", Schedule: once}, noon, noon.Add(window)},
		{"from jitter to jitter", jobs.Job{Name: "j", Schedule: second, Jitter: time.Hour}, jittered(noon), jittered(noon.Add(time.Second))},
		{"jitter before a long pause", jobs.Job{Name: "j", Schedule: once, Jitter: time.Second}, jittered(noon), jittered(noon).Add(window)},
		{"the key's jitter", jobs.Job{Name: "new", Key: "j", Schedule: once, Jitter: time.Second}, jittered(noon), jittered(noon).Add(window)},
	}
	for _, tt := range tests {
		got := New(tt.job).Scheduled(noon, window)
		if got.At != noon || got.Nominal != noon || !got.Start.Equal(tt.start) || !got.Until.Equal(tt.until) {
			t.Errorf("%s: %v from %v until %v, want from %v until %v", tt.name, got.At, got.Start, got.Until, tt.start, tt.until)
		}
	}
}

// Only a job with reruns is claimed again: the nodes store the mode with the claim.
func TestModeOfClaims(t *testing.T) {
	t.Parallel()
	for policy, want := range map[jobs.OnCrash]locking.Mode{
		"": locking.AtMostOnce, jobs.CrashSkip: locking.AtMostOnce, jobs.CrashRerun: locking.AtLeastOnce,
	} {
		if got := (&Job{jobs.Job{OnCrash: policy}}).Mode(); got != want {
			t.Errorf("on_crash %q: mode %d, want %d", policy, got, want)
		}
	}
}
