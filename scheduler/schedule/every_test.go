package schedule

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

func TestLeastGap(t *testing.T) {
	t.Parallel()
	paris := mustZone(t, "Europe/Paris")
	tests := map[string]struct {
		s    Schedule
		want time.Duration
	}{
		"interval":           {Every{Interval: 90 * time.Second}, 90 * time.Second},
		"uneven minutes":     {mustParse(t, "0,50 * * * *", Options{}), 10 * time.Minute},
		"a day in spring":    {mustParse(t, "30 2 * * *", Options{Location: paris}), 23*time.Hour + 30*time.Minute},
		"union":              {Union(mustParse(t, "0 2 * * *", Options{}), mustParse(t, "5 2 1 * *", Options{})), 5 * time.Minute},
		"far in the future":  {mustParse(t, "0 0 */6 1 1 * 2150", Options{}), 6 * time.Hour},
		"one tick":           {At{instant(t, "2027-01-01T00:00:00Z")}, 0},
		"all before the day": {mustParse(t, "0 0 0 * * * 2020", Options{}), 0},
	}
	for name, tt := range tests {
		if got, ok := LeastGap(tt.s); ok != (tt.want > 0) || ok && got != tt.want {
			t.Errorf("%s: %s, %v, want %s", name, got, ok, tt.want)
		}
	}
}
