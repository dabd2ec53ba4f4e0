package attempt

import (
	"testing"
	"time"
)

func TestStagger(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name       string
		step       time.Duration
		rank       int
		room, want time.Duration
	}{
		{"the first does not wait", 20 * ms, 0, time.Second, 0},
		{"the third waits two steps", 20 * ms, 2, time.Second, 40 * ms},
		{"switched off", -1, 7, time.Second, 0},
		{"half of the window is left for retries", 20 * ms, 40, time.Second, 500 * ms},
		{"window already closed", 20 * ms, 3, -ms, 0},
	}
	for _, tt := range tests {
		if got := Stagger(tt.step, tt.rank, tt.room); got != tt.want {
			t.Errorf("%s: waits %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRetryDelayDoublesToItsLimit(t *testing.T) {
	t.Parallel()
	longest := func(limit time.Duration) time.Duration { return limit }
	for i, want := range []int{21, 41, 81, 161, 251, 251, 251} {
		if got := retryDelay(i+1, 0, longestRetry, longest); got != time.Duration(want)*time.Millisecond {
			t.Errorf("after %d tries: up to %v, want %d ms", i+1, got, want)
		}
	}
	if got := retryDelay(1_000_000, 0, longestRetry, longest); got != 251*time.Millisecond {
		t.Errorf("after a million tries: up to %v, want 251 ms", got)
	}
	if got := retryDelay(1_000_000, 0, longestWait, longest); got != longestWait+time.Millisecond {
		t.Errorf("after a million tries behind a long run: up to %v, want 4.001 s", got)
	}
	if got := retryDelay(1, 300*time.Millisecond, longestRetry, longest); got != 1201*time.Millisecond {
		t.Errorf("after a try of 300 ms: up to %v, want four times as long", got)
	}
	if got := retryDelay(3, 0, longestRetry, func(time.Duration) time.Duration { return 0 }); got <= 0 {
		t.Errorf("shortest pause is %v: replicas would spin", got)
	}
}
