package scheduler

import (
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

// Windows last from start to start.
func TestScheduledTicks(t *testing.T) {
	t.Parallel()
	const window = 30 * time.Second
	second := everySecond{new(int)}
	jittered := func(at time.Time) time.Time { return at.Add(Jitter("j", at, time.Second)) }
	tests := []struct {
		name         string
		job          Job
		start, until time.Time
	}{
		{"until the next tick", Job{Name: "j", Schedule: second}, noon, noon.Add(time.Second)},
		{"until the window's end", Job{Name: "j", Schedule: daily{}}, noon, noon.Add(window)},
		{"the last tick", Job{Name: "j", Schedule: once{noon}}, noon, noon.Add(window)},
		{"from jitter to jitter", Job{Name: "j", Schedule: second, Jitter: time.Hour}, jittered(noon), jittered(noon.Add(time.Second))},
		{"jitter before a long pause", Job{Name: "j", Schedule: once{noon}, Jitter: time.Second}, jittered(noon), jittered(noon).Add(window)},
		{"the key's jitter", Job{Name: "new", Key: "j", Schedule: once{noon}, Jitter: time.Second}, jittered(noon), jittered(noon).Add(window)},
	}
	for _, tt := range tests {
		got := tt.job.scheduled(noon, window)
		if got.at != noon || got.nominal != noon || !got.start.Equal(tt.start) || !got.until.Equal(tt.until) {
			t.Errorf("%s: %v from %v until %v, want from %v until %v", tt.name, got.at, got.start, got.until, tt.start, tt.until)
		}
	}
}

// The lanes of a job are found by their stream, and stay.
func TestLanes(t *testing.T) {
	t.Parallel()
	var j job
	scheduled, manual := j.lane(""), j.lane("manual")
	if scheduled == manual || j.lane("manual") != manual || j.lane("") != scheduled {
		t.Error("lanes are mixed up")
	}
}

// Only a job with reruns is claimed again: the nodes store the mode with the claim.
func TestModeOfClaims(t *testing.T) {
	t.Parallel()
	for policy, want := range map[OnCrash]locking.Mode{
		"": locking.AtMostOnce, CrashSkip: locking.AtMostOnce, CrashRerun: locking.AtLeastOnce,
	} {
		if got := (&Job{OnCrash: policy}).mode(); got != want {
			t.Errorf("on_crash %q: mode %d, want %d", policy, got, want)
		}
	}
}
