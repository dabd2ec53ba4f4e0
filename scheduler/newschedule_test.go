package scheduler_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// TestNewScheduleHasNoPast: replicas are restarted with another schedule. What
// was due before has the old one's ticks: those that nobody ran are missed, or
// caught up; the new one's begin with the replicas that have it.
func TestNewScheduleHasNoPast(t *testing.T) {
	t.Parallel()
	for mode, want := range map[scheduler.CatchUpMode]string{
		scheduler.CatchUpNone: "1h succeeded, 2h succeeded, 3h missed, 4h missed, 5h succeeded, 5h20m succeeded",
		scheduler.CatchUpAll:  "1h succeeded, 2h succeeded, 3h succeeded, 4h succeeded, 5h succeeded, 5h20m succeeded",
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				version := func(interval string) scheduler.Job {
					j := every(t, interval, "j", c.handler(nil))
					j.Hash, j.CatchUp = interval, scheduler.CatchUp{Mode: mode, Window: 6 * time.Hour}
					return j
				}
				time.Sleep(30 * time.Minute)
				old := c.start(c.replica("old", nil, version("1h")))
				time.Sleep(2 * time.Hour)
				c.stop(old)
				time.Sleep(135 * time.Minute)
				first := c.start(c.replica("a", nil, version("20m")))
				time.Sleep(2 * time.Minute) // the second finds what the first has noted
				second := c.start(c.replica("b", nil, version("20m")))
				time.Sleep(40 * time.Minute)
				c.stop(first)
				c.stop(second)
				var got []string
				for _, e := range c.ticks("j") {
					got = append(got, strings.ReplaceAll(c.at(e.Tick).String(), "m0s", "m")+" "+string(e.Outcome))
				}
				text := strings.ReplaceAll(strings.Join(got, ", "), "h0m", "h")
				if text != want {
					t.Errorf("%s: the ledger has\n%s\nwant\n%s", mode, text, want)
				}
			})
		})
	}
}
