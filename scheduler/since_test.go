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
				v := versions{newCluster(t), mode}
				time.Sleep(30 * time.Minute)
				old := v.serve("old", "1h")
				time.Sleep(2 * time.Hour)
				old()
				time.Sleep(135 * time.Minute)
				first := v.serve("a", "20m")
				time.Sleep(2 * time.Minute) // the second finds what the first has noted
				second := v.serve("b", "20m")
				time.Sleep(40 * time.Minute)
				first()
				second()
				v.want(want)
			})
		})
	}
}

// TestWayBackHasNoPast: a version that was replaced, and comes back, has nothing to
// do with what came meanwhile. The version before each start tells what was due until
// then, and not longer, however late the first tick of the new one is.
func TestWayBackHasNoPast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := versions{newCluster(t), scheduler.CatchUpAll}
		time.Sleep(30 * time.Minute)
		for _, interval := range []string{"20m", "2h", "20m"} {
			stop := v.serve("serves every "+interval, interval)
			time.Sleep(75 * time.Minute)
			stop()
			time.Sleep(25 * time.Minute)
		}
		v.want("40m succeeded, 1h succeeded, 1h20m succeeded, 1h40m succeeded, 2h succeeded, " +
			"4h succeeded, 4h20m succeeded, 4h40m succeeded, 5h succeeded")
	})
}

// TestVersionServedBesideAnother: after a roll-out was cut short by the end of all
// replicas, the newer version's ticks of that time are accounted for.
func TestVersionServedBesideAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := versions{newCluster(t), scheduler.CatchUpNone}
		time.Sleep(30 * time.Minute)
		old := v.serve("old", "1h")
		time.Sleep(35 * time.Minute)
		newer := v.serve("new", "20m")
		time.Sleep(5 * time.Minute)
		newer()
		old()
		time.Sleep(65 * time.Minute)
		stop := v.serve("later", "20m")
		time.Sleep(30 * time.Minute)
		stop()
		v.want("1h succeeded, 1h20m missed, 1h40m missed, 2h missed, 2h20m succeeded, 2h40m succeeded")
	})
}

// versions serves one job in several of them.
type versions struct {
	*cluster
	mode scheduler.CatchUpMode
}

// serve starts a replica with the job at multiples of the interval.
func (v versions) serve(replica, interval string) (stop func()) {
	v.t.Helper()
	j := every(v.t, interval, "j", v.handler(nil))
	j.Hash, j.CatchUp = interval, scheduler.CatchUp{Mode: v.mode, Window: 6 * time.Hour}
	ends := v.start(v.replica(replica, nil, j))
	return func() { v.stop(ends) }
}

// want compares ticks and outcomes.
func (v versions) want(want string) {
	v.t.Helper()
	var got []string
	for _, e := range v.ticks("j") {
		got = append(got, strings.ReplaceAll(v.at(e.Tick).String(), "m0s", "m")+" "+string(e.Outcome))
	}
	if text := strings.ReplaceAll(strings.Join(got, ", "), "h0m", "h"); text != want {
		v.t.Errorf("the ledger has\n%s\nwant\n%s", text, want)
	}
}
