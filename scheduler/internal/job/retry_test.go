package job

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

func TestRetryAllows(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name string
		call int
		err  error
		want bool
	}{
		{"success", 1, nil, false},
		{"failure", 1, boom, true},
		{"failure of the call before the last", 2, boom, true},
		{"failure of the last call", 3, boom, false},
		{"panic", 1, &jobs.PanicError{Value: "ouch"}, true},
		{"timeout of the call", 1, jobs.ErrTimeout, true},
		{"permanent", 1, jobs.Permanent(boom), false},
		{"permanent, wrapped", 1, fmt.Errorf("sending: %w", jobs.Permanent(boom)), false},
		{"skip", 1, jobs.Skip("no orders"), false},
		{"stale write", 1, fmt.Errorf("saving: %w", &fence.StaleError{Seen: 2, Token: 1}), false},
	}
	for _, tt := range tests {
		if got := New(jobs.Job{Hash: "1", Retry: jobs.Retry{Attempts: 3}}).Retries(tt.call, tt.err); got != tt.want {
			t.Errorf("%s: another call %v, want %v", tt.name, got, tt.want)
		}
	}
	if New(jobs.Job{Hash: "1"}).Retries(1, boom) {
		t.Error("the zero value allows a second call")
	}
}

// The pause is between half of the limit and the limit, which doubles.
func TestRetryPause(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := jobs.Retry{
			Backoff:    time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "backoff")),
			MaxBackoff: 2 * time.Hour,
		}
		call := rapid.IntRange(1, 100).Draw(t, "call")
		share := rapid.Float64Range(0, 1).Draw(t, "random")
		limit := r.MaxBackoff
		if doubled := math.Ldexp(float64(r.Backoff), call-1); doubled < float64(limit) {
			limit = time.Duration(doubled)
		}
		got := New(jobs.Job{Hash: "1", Retry: r}).RetryPause(call, func(below time.Duration) time.Duration {
			if below <= 0 {
				t.Fatalf("asked for a random duration below %v", below)
			}
			return min(time.Duration(share*float64(below)), below-1)
		})
		if got < limit/2 || got > limit {
			t.Fatalf("pause %v after call %d, want between %v and %v", got, call, limit/2, limit)
		}
	})
}

func TestRetryValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		r    jobs.Retry
		good bool
	}{
		{"zero", jobs.Retry{}, true},
		{"full", jobs.Retry{Attempts: 5, Backoff: time.Second, MaxBackoff: time.Second, AttemptTimeout: time.Minute}, true},
		{"long backoff alone", jobs.Retry{Backoff: time.Hour}, true},
		{"negative attempts", jobs.Retry{Attempts: -1}, false},
		{"negative backoff", jobs.Retry{Backoff: -1}, false},
		{"backoff above its bound", jobs.Retry{Backoff: 2 * time.Second, MaxBackoff: time.Second}, false},
		{"no timeout", jobs.Retry{AttemptTimeout: jobs.None}, true},
	}
	for _, tt := range tests {
		good := true
		validateRetry(&jobs.Job{Retry: tt.r}, func(string, ...any) { good = false })
		if good != tt.good {
			t.Errorf("%s: accepted %v", tt.name, good)
		}
	}
}
