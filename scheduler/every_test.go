package scheduler

import (
	"testing"
	"time"
)

func TestEveryIsAlignedToTheEpoch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		every       Every
		after, want string
	}{
		{Every{Interval: 5 * time.Minute}, "2026-11-20T10:17:30Z", "2026-11-20T10:20:00Z"},
		{Every{Interval: 5 * time.Minute}, "2026-11-20T10:20:00Z", "2026-11-20T10:25:00Z"},
		{Every{Interval: 5 * time.Minute}, "2026-11-20T10:19:59.999999999Z", "2026-11-20T10:20:00Z"},
		{Every{Interval: 5 * time.Minute, Offset: time.Minute}, "2026-11-20T10:20:00Z", "2026-11-20T10:21:00Z"},
		{Every{Interval: 5 * time.Minute, Offset: time.Minute}, "2026-11-20T10:21:00Z", "2026-11-20T10:26:00Z"},
		{Every{Interval: 7 * time.Hour}, "1970-01-01T00:00:00Z", "1970-01-01T07:00:00Z"},
		{Every{Interval: 7 * time.Hour}, "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"},
		{Every{Interval: 7 * time.Hour}, "1969-12-31T12:00:00Z", "1969-12-31T17:00:00Z"},
		{Every{Interval: time.Hour, Offset: time.Minute}, "1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z"},
		{Every{Interval: 1500 * time.Millisecond}, "2026-11-20T10:17:30Z", "2026-11-20T10:17:31.5Z"},
	}
	for _, tt := range tests {
		if got := tt.every.Next(instant(t, tt.after)); got != instant(t, tt.want) {
			t.Errorf("%+v after %s: %s, want %s", tt.every, tt.after, got, tt.want)
		}
	}
}

func TestEveryBelowAMillisecondNeverTicks(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, -time.Hour, time.Microsecond} {
		if got := (Every{Interval: d}).Next(time.Unix(0, 0)); !got.IsZero() {
			t.Errorf("every %s ticks at %s", d, got)
		}
	}
}
