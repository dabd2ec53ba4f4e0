package cmd

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestCampaignDrain: SIGTERM lets a running job finish; a second one ends it. A run
// that may be repeated is handed over.
func TestCampaignDrain(t *testing.T) {
	t.Parallel()
	t.Run("finish", func(t *testing.T) {
		t.Parallel()
		drainAlone(t, "4.5", ledger.Succeeded, func(*campaigntest.Replica) {}) // longer than the lease
	})
	t.Run("second signal", func(t *testing.T) {
		t.Parallel()
		drainAlone(t, "1000", ledger.Cancelled, func(r *campaigntest.Replica) { r.Signal(syscall.SIGTERM) })
	})
	t.Run("hand over", handOver)
}

// drainAlone drains the only replica while its job sleeps, and wants the run to end so.
func drainAlone(t *testing.T, sleep string, want ledger.Outcome, then func(*campaigntest.Replica)) {
	t.Helper()
	job := "drain-" + strings.ReplaceAll(sleep, ".", "-")
	c := onRedis(t, redistest.StartN(t, 3), `
jobs:
  `+job+`:
    func: exec
    schedule: "@every 1s"
    params: {command: [sh, -c, 'sleep `+sleep+`; echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB" >> %[1]s'], kill_grace: 100ms}
`)
	initNew(t, c.Config)
	c.Start("a")
	r := c.Replicas["a"]
	r.AwaitLog(`"tick won"`)
	r.Signal(syscall.SIGTERM)
	r.AwaitLog(`"draining`)
	then(r)
	if code := r.ExitCode(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	to := time.Now()
	rows := list[view.Run](t, "runs", job, "-c", c.Config)
	if len(rows) != 1 || rows[0].Outcome != want {
		t.Fatalf("the run that was draining: %+v", rows)
	}
	c.Due(job, time.Second, view.Time(&rows[0].Tick).Add(-time.Nanosecond), to)
	c.CheckTruth()
}

// handOver drains replicas whose run may be repeated, and kills others. Another
// replica repeats both, with a larger token: sooner after a drain, because after a kill
// it waits for the lease.
func handOver(t *testing.T) {
	t.Parallel()
	c := onRedis(t, redistest.StartN(t, 5), `
scheduler: {drain_timeout: 100ms}
jobs:
  long:
    func: exec
    schedule: "@every 2s"
    on_crash: rerun
    params: {command: [sh, -c, 'sleep 1; echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB" >> %[1]s'], kill_grace: 100ms}
`)
	initNew(t, c.Config)
	// Each process has a name of its own, so that a run names the process.
	all := map[string]*campaigntest.Replica{}
	start := func() {
		id := fmt.Sprintf("r-%d", len(all))
		c.Start(id)
		c.Ready()
		all[id] = c.Replicas[id]
	}
	for range 3 {
		start()
	}
	from := time.Now()
	for n := 0; n < 6 || time.Since(from) < length.Of(0, time.Minute); n++ {
		winner := c.NextWinner()
		if delete(c.Replicas, winner.ID); n%2 == 0 {
			winner.Drain()
		} else {
			winner.Kill()
		}
		start()
	}
	done := len(c.Effects())
	c.Eventually("what was interrupted is repeated", func() bool { return len(c.Effects()) > done+1 })
	c.Due("long", 2*time.Second, from, time.Now())
	c.CheckTruth()

	drained, killed := repeated(t, list[view.Run](t, "runs", "long", "-c", c.Config, "--limit", "1000"), all)
	if len(drained) == 0 || len(killed) == 0 {
		t.Fatalf("%d runs were repeated after a drain and %d after a kill; want some of both", len(drained), len(killed))
	}
	t.Logf("the next attempt began after a drain: %s; after a kill: %s", middle(drained), middle(killed))
	if drained[len(drained)/2] >= killed[len(killed)/2] {
		t.Errorf("a run that was handed over is repeated no sooner than that of a replica that was killed")
	}
}

// repeated returns how long after the end of each run that did not finish the next
// attempt began, after a drain and after a kill, the shortest first.
func repeated(t *testing.T, runs []view.Run, all map[string]*campaigntest.Replica) (drained, killed []time.Duration) {
	t.Helper()
	next := func(r view.Run) *view.Run {
		i := slices.IndexFunc(runs, func(o view.Run) bool { return o.Tick == r.Tick && *o.Attempt == *r.Attempt+1 })
		if i < 0 {
			t.Errorf("tick %s was not repeated after attempt %d, which was %s (%s)", r.Tick, *r.Attempt, r.Outcome, output.Dash(r.Reason))
			return nil
		}
		if *runs[i].Token <= *r.Token {
			t.Errorf("tick %s: attempt %d has token %d, and the one before %d", r.Tick, *runs[i].Attempt, *runs[i].Token, *r.Token)
		}
		return &runs[i]
	}
	for _, r := range runs {
		if r.Outcome != ledger.Interrupted {
			continue
		}
		again := next(r)
		if again == nil {
			continue
		}
		if p := all[view.Text(r.Replica)].Incarnation(); p.Killed {
			killed = append(killed, view.Time(again.Started).Sub(p.Until))
		} else if r.Code != nil && *r.Code == ledger.CodeDrained { // else no replica could take it over before the end of the lease
			drained = append(drained, view.Time(again.Started).Sub(view.Time(r.Finished)))
		}
	}
	slices.Sort(drained)
	slices.Sort(killed)
	return drained, killed
}

// middle returns the median and the maximum of sorted durations.
func middle(d []time.Duration) string {
	round := func(i int) time.Duration { return d[i].Round(time.Millisecond) }
	return fmt.Sprintf("median %v, max %v of %d", round(len(d)/2), round(len(d)-1), len(d))
}
