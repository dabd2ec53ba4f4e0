package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The delay depends on the job, the tick and the limit alone: two replicas, with
// schedules parsed apart and clocks that differ, start a tick at one instant.
func TestJitterIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	specs := []string{"*/5 * * * *", "30 2 * * *", "@every 90s", "0 0 L * fri#2", "0 */2 * * *"}
	rapid.Check(t, func(r *rapid.T) {
		name, spec := rapid.StringMatching("[a-z]{1,8}").Draw(r, "job"), rapid.SampledFrom(specs).Draw(r, "spec")
		limit := time.Duration(rapid.Int64Range(0, 7_200_000).Draw(r, "limit")) * time.Millisecond
		from := time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(r, "from"), 0)
		paris := mustZone(t, "Europe/Paris")
		one := Job{Name: name, Jitter: limit, Schedule: mustParse(t, spec, ScheduleOptions{Location: paris})}
		other := Job{Name: name, Jitter: limit, Schedule: mustParse(t, spec, ScheduleOptions{Location: paris})}
		tick := one.Schedule.Next(from)
		next := one.Schedule.Next(tick)
		start := one.Start(tick)
		switch delay := start.Sub(tick); {
		case start != other.Start(other.Schedule.Next(tick.Add(-time.Nanosecond))):
			r.Fatalf("replicas start the tick %s at %s and %s", tick, start, other.Start(tick))
		case delay < 0 || delay >= max(limit, 1):
			r.Fatalf("tick %s is delayed by %s, limit %s", tick, delay, limit)
		case !start.Before(next):
			r.Fatalf("tick %s starts at %s, after %s", tick, start, next)
		}
	})
}

func TestJitterSpreads(t *testing.T) {
	t.Parallel()
	var quarters [4]int
	for i := range 4000 {
		delay := Jitter("job", time.Unix(int64(i)*60, 0), 40*time.Second)
		quarters[delay/(10*time.Second)]++
	}
	for i, n := range quarters {
		if n < 850 || n > 1150 {
			t.Errorf("%d of 4000 delays are in quarter %d", n, i+1)
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
		"uneven minutes":     {mustParse(t, "0,50 * * * *", ScheduleOptions{}), 10 * time.Minute},
		"a day in spring":    {mustParse(t, "30 2 * * *", ScheduleOptions{Location: paris}), 23*time.Hour + 30*time.Minute},
		"union":              {Union(mustParse(t, "0 2 * * *", ScheduleOptions{}), mustParse(t, "5 2 1 * *", ScheduleOptions{})), 5 * time.Minute},
		"far in the future":  {mustParse(t, "0 0 */6 1 1 * 2150", ScheduleOptions{}), 6 * time.Hour},
		"one tick":           {At{instant(t, "2027-01-01T00:00:00Z")}, 0},
		"all before the day": {mustParse(t, "0 0 0 * * * 2020", ScheduleOptions{}), 0},
	}
	for name, tt := range tests {
		if got, ok := LeastGap(tt.s); ok != (tt.want > 0) || ok && got != tt.want {
			t.Errorf("%s: %s, %v, want %s", name, got, ok, tt.want)
		}
	}
}
