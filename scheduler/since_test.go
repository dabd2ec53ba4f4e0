package scheduler_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestNewScheduleHasNoPast: replicas are restarted with another schedule. Earlier ticks
// follow the old schedule: if they did not run, they are missed or caught up. The new one's
// begin with the new replicas.
func TestNewScheduleHasNoPast(t *testing.T) {
	t.Parallel()
	for mode, want := range map[jobs.CatchUpMode]string{
		jobs.CatchUpNone: "1h succeeded, 2h succeeded, 3h missed, 4h missed, 5h succeeded, 5h20m succeeded",
		jobs.CatchUpAll:  "1h succeeded, 2h succeeded, 3h succeeded, 4h succeeded, 5h succeeded, 5h20m succeeded",
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
				time.Sleep(2 * time.Minute) // the second finds the first one's record
				second := v.serve("b", "20m")
				time.Sleep(40 * time.Minute)
				first()
				second()
				v.want(want)
			})
		})
	}
}

// TestWayBackHasNoPast: a version that returns is not responsible for the ticks in between.
// Until each start the version before it counts, however late the new one's first tick is.
func TestWayBackHasNoPast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := versions{newCluster(t), jobs.CatchUpAll}
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

// TestVersionServedBesideAnother: a roll-out ends early with the end of all replicas; the
// newer version's ticks of that time are still recorded.
func TestVersionServedBesideAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := versions{newCluster(t), jobs.CatchUpNone}
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

// versions serves several versions of one job.
type versions struct {
	*cluster
	mode jobs.CatchUpMode
}

// serve starts a replica with the job at multiples of the interval.
func (v versions) serve(replica, interval string) (stop func()) {
	v.t.Helper()
	j := every(v.t, interval, "j", v.handler(nil))
	j.Hash, j.CatchUp = interval, jobs.CatchUp{Mode: v.mode, Window: 6 * time.Hour}
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

// A roll-out is taken back before its versions have settled, by stops or by rolling restarts. What
// only one version has is a tick only while that one was served last, whatever was published when.
func TestQuickRollback(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		served  time.Duration // by the old version before the roll-out
		overlap time.Duration // of two versions; negative: nobody serves in between
		lived   time.Duration // by the version that was taken back
		last    string        // its successor's interval
		want    string        // ticks that did not run
	}{
		{"with a gap", 7 * time.Minute, -150 * time.Second, 260 * time.Second, "1m", "32m missed no_replica, 33m missed no_replica, 40m missed no_replica"},
		{"rolling", 7 * time.Minute, 10 * time.Second, 260 * time.Second, "1m", ""},
		{"the old one is published beside the new one", 9*time.Minute + 20*time.Second, 70 * time.Second, 140 * time.Second, "1m", ""},
		{"the new one is published twice", 4 * time.Minute, 10 * time.Second, 6 * time.Minute, "1m", ""},
		{"on to a third version", 9*time.Minute + 20*time.Second, 70 * time.Second, 140 * time.Second, "90s", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := versions{newCluster(t), jobs.CatchUpNone}
				time.Sleep(24*time.Minute + 15*time.Second)
				stop := v.serve("old", "1m")
				time.Sleep(tt.served)
				shift := func(id, interval string) {
					if tt.overlap < 0 {
						stop()
						time.Sleep(-tt.overlap)
						stop = v.serve(id, interval)
						return
					}
					next := v.serve(id, interval)
					time.Sleep(tt.overlap)
					stop()
					stop = next
				}
				shift("new", "2m")
				time.Sleep(tt.lived)
				shift("back", tt.last)
				time.Sleep(5 * time.Minute)
				stop()
				var lost []string
				for _, e := range v.ticks("j") {
					if e.Outcome != ledger.Succeeded {
						lost = append(lost, strings.TrimSuffix(v.at(e.Tick).String(), "0s")+" "+string(e.Outcome)+" "+string(e.Reason.Code))
					}
				}
				if got := strings.Join(lost, ", "); got != tt.want {
					t.Errorf("did not run: %s; want %s", got, tt.want)
				}
			})
		})
	}
}
