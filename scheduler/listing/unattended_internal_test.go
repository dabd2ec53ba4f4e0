package listing

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// hourly is a schedule that counts how often it is asked.
type hourly struct{ asked int }

// Next implements scheduler.Schedule.
func (h *hourly) Next(after time.Time) time.Time {
	h.asked++
	return after.Truncate(time.Hour).Add(time.Hour)
}

// Ticks that nobody could record are those of the schedule since the last entry.
func TestMissedSince(t *testing.T) {
	t.Parallel()
	tick := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	now := tick.Add(30 * time.Minute)
	for _, tt := range []struct {
		name string
		from time.Time
		q    scheduler.Query
		want string
	}{
		{"six hours", tick.Add(-6 * time.Hour), scheduler.Query{Limit: 100}, "02 01 00 23 22 21"},
		{"none since", tick, scheduler.Query{Limit: 100}, ""},
		{"limit", tick.Add(-1000 * time.Hour), scheduler.Query{Limit: 3}, "02 01 00"},
		{"years", tick.Add(-100_000 * time.Hour), scheduler.Query{Limit: 3}, "02 01 00"},
		{"since", tick.Add(-6 * time.Hour), scheduler.Query{Limit: 100, Since: tick.Add(-time.Hour)}, "02 01"},
		{"until", tick.Add(-6 * time.Hour), scheduler.Query{Limit: 2, Before: tick}, "01 00"},
		{"before it all", tick.Add(-6 * time.Hour), scheduler.Query{Limit: 2, Before: tick.Add(-7 * time.Hour)}, ""},
		{"another outcome", tick.Add(-6 * time.Hour), scheduler.Query{Limit: 9, Outcomes: []scheduler.Outcome{scheduler.Failed}}, ""},
	} {
		var got []string
		s := new(hourly)
		for _, e := range missedSince(s, tt.from, now, tt.q) {
			got = append(got, e.Tick.Format("15"))
			if e.Outcome != scheduler.Missed || NewTick(e).Recorded {
				t.Errorf("%s: %+v is not marked as computed", tt.name, e)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
		if s.asked > 100 {
			t.Errorf("%s: the schedule was asked %d times", tt.name, s.asked)
		}
	}
}
