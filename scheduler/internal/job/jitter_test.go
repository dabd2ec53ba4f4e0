package job

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/schedule"
)

// The delay depends only on the job, the tick and the limit: two replicas, with schedules
// parsed separately and different clocks, start a tick at one instant.
func TestJitterIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	specs := []string{"*/5 * * * *", "30 2 * * *", "@every 90s", "0 0 L * fri#2", "0 */2 * * *"}
	rapid.Check(t, func(r *rapid.T) {
		name, spec := rapid.StringMatching("[a-z]{1,8}").Draw(r, "job"), rapid.SampledFrom(specs).Draw(r, "spec")
		limit := time.Duration(rapid.Int64Range(0, 7_200_000).Draw(r, "limit")) * time.Millisecond
		from := time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(r, "from"), 0)
		one := Job{jobs.Job{Name: name, Jitter: limit, Schedule: mustParse(t, spec, "Europe/Paris")}}
		other := Job{jobs.Job{Name: name, Jitter: limit, Schedule: mustParse(t, spec, "Europe/Paris")}}
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

func mustParse(tb testing.TB, spec, zone string) schedule.Schedule {
	tb.Helper()
	loc, err := schedule.LoadZone(zone)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := schedule.Parse(spec, schedule.Options{Location: loc})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
