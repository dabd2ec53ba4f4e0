package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
)

// Three replicas for a day, one of which restarts every hour: every tick runs once.
func TestDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		list := []jobs.Job{
			every(t, "1m", "minutely", c.handler(lasting(2*time.Second))),
			every(t, "1h", "hourly", c.handler(lasting(10*time.Minute))),
		}
		a := c.start(c.replica("a", nil, list...))
		b := c.start(c.replica("b", nil, list...))
		for range 24 {
			third := c.start(c.replica("c", nil, list...))
			time.Sleep(time.Hour - time.Minute)
			c.stop(third)
			time.Sleep(time.Minute)
		}
		time.Sleep(11*time.Minute + 30*time.Second)
		c.stop(a)
		c.stop(b)

		runs := make(map[string]map[time.Time]int)
		winners := make(map[string]int)
		for _, r := range c.runs {
			if runs[r.Job] == nil {
				runs[r.Job] = make(map[time.Time]int)
			}
			runs[r.Job][r.Tick]++
			winners[r.Replica]++
		}
		for job, period := range map[string]time.Duration{"minutely": time.Minute, "hourly": time.Hour} {
			want := int((24*time.Hour + 11*time.Minute) / period)
			if got := len(runs[job]); got != want {
				t.Errorf("%s: %d ticks ran, want %d", job, got, want)
			}
			for i := 1; i <= want; i++ {
				at := c.begun.Add(time.Duration(i) * period).UTC()
				if n := runs[job][at]; n != 1 {
					t.Errorf("%s: tick %v ran %d times", job, c.at(at), n)
				}
			}
		}
		for _, id := range []string{"a", "b", "c"} {
			if winners[id] < 300 {
				t.Errorf("wins are uneven: %v", winners)
			}
		}
	})
}
