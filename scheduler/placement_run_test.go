package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Only replicas with the job's labels run it, and they do not wait for others.
func TestPlacement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "10s", "j", c.handler(nil))
		job.Labels = map[string]string{"zone": "a"}
		var stops []func() error
		for _, r := range []struct{ id, zone string }{{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"b2", "b"}, {"b3", "b"}, {"none", ""}} {
			stops = append(stops, c.start(c.replica(r.id, func(cfg *scheduler.Config) {
				if cfg.Stagger = time.Second; r.zone != "" {
					cfg.Labels = map[string]string{"zone": r.zone, "disk": "fast"}
				}
			}, job)))
		}
		time.Sleep(205 * time.Second)
		c.saw(0, "missed")
		for _, stop := range stops {
			c.stop(stop)
		}
		wins := map[string]int{}
		for _, e := range c.ticks("j") {
			if wins[e.Replica]++; e.Outcome != ledger.Succeeded {
				t.Errorf("%v %s: %s", c.at(e.Tick), e.Outcome, e.Reason)
			}
			if late := e.Started.Sub(e.Tick); late > 0 && c.at(e.Tick) > 10*time.Second {
				t.Errorf("tick %v began %v late: it waited for replicas that cannot run it", c.at(e.Tick), late)
			}
		}
		if wins["a1"] < 3 || wins["a2"] < 3 || wins["a1"]+wins["a2"] != 20 {
			t.Errorf("ticks won: %v, want 20 by a1 and a2", wins)
		}
	})
}

// A tick without a matching replica is recorded by another one; once there is a matching
// one, it runs.
func TestNobodyHasTheLabels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "10s", "j", c.handler(nil))
		job.Labels = map[string]string{"zone": "a", "gpu": "yes"}
		b := c.start(c.replica("b", func(cfg *scheduler.Config) { cfg.Labels = map[string]string{"zone": "b"} }, job))
		time.Sleep(22 * time.Second) // the second tick waits
		a := c.start(c.replica("a", func(cfg *scheduler.Config) { cfg.Labels = job.Labels }, job))
		time.Sleep(20 * time.Second)
		c.stop(a)
		time.Sleep(14 * time.Second)
		c.stop(b)
		const nobody = "missed: placement: no live replica has gpu=yes, zone=a"
		c.wantTicks("j", "10s "+nobody, "20s "+nobody, "30s succeeded", "40s succeeded", "50s "+nobody)
	})
}
