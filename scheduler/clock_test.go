package scheduler

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// A schedule of robfig/cron without a zone ticks in UTC on every machine.
func TestSchedulesOfRobfigTickInUTC(t *testing.T) {
	t.Parallel()
	s, err := cron.ParseStandard("0 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	j := job.New(jobs.Job{Name: "nightly", Schedule: s})
	if at := j.FirstAfter(systemClock(), time.Hour).At; at.Location() != time.UTC || at.Hour() != 2 {
		t.Errorf("the first tick is at %s", at)
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		c := newClocks(systemClock)
		wall := c.wall
		c.wall = func() time.Time { return wall().Add(ahead) }
		d := newDrift(c)
		steps := []struct {
			name        string
			slept, step time.Duration
			want        time.Duration
		}{
			{"time passes", time.Hour, 0, 0},
			{"slewed", time.Hour, jumpThreshold - 1, 0},
			{"suspended", time.Second, 8 * time.Hour, 8 * time.Hour},
			{"reported once", time.Second, 0, 0},
			{"set back", time.Second, -time.Minute, -time.Minute},
			{"just a jump", time.Second, jumpThreshold, jumpThreshold},
		}
		for _, s := range steps {
			time.Sleep(s.slept)
			ahead += s.step
			if got := d.jump(); got != s.want {
				t.Errorf("%s: %v, want %v", s.name, got, s.want)
			}
		}
	})
}
