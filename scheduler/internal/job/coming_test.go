package job

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Coming ticks are those that start later, whatever their nominal time, soonest first, each
// once.
func TestComing(t *testing.T) {
	t.Parallel()
	specs := []string{"*/5 * * * *", "@every 90s", "0,50 * * * *"}
	begin := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(r *rapid.T) {
		j := Job{jobs.Job{
			Name: "j", Schedule: mustParse(t, rapid.SampledFrom(specs).Draw(r, "spec"), "UTC"),
			Jitter: time.Duration(rapid.Int64Range(0, 1_200_000).Draw(r, "jitter")) * time.Millisecond,
		}}
		from := begin.Add(time.Duration(rapid.Int64Range(0, 7_200_000).Draw(r, "from")) * time.Millisecond)
		n := rapid.IntRange(1, 5).Draw(r, "n")
		var want []schedule.Planned
		for at := j.Schedule.Next(begin.Add(-2 * time.Hour)); len(want) < n; at = j.Schedule.Next(at) {
			if j.Start(at).After(from) {
				want = append(want, schedule.Planned{Tick: at})
			}
		}
		if got := j.Coming(from, n, false); !slices.Equal(got, want) {
			r.Fatalf("from %s come %v, want %v", from, got, want)
		}
	})
}
