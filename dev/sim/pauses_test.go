package sim_test

import (
	"context"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// A pause is what somebody asks of a job, and takes back, while its ticks are
// claimed.
type pause struct {
	job      int
	from, to time.Duration
}

// pause asks for it when the time comes.
func (c *cluster) pause(ctx context.Context, p pause) {
	act := acts.Act{Kind: acts.Pause, Job: jobName(p.job), By: "sim", Reason: "to see"}
	if !c.until(ctx, p.from) {
		return
	}
	c.do(ctx, act)
	c.world.History.Add(sim.Event{What: sim.Paused, Job: act.Job})
	if !c.until(ctx, p.to) {
		return
	}
	c.world.History.Add(sim.Event{What: sim.Resumed, Job: act.Job})
	act.Kind = acts.Resume
	c.do(ctx, act)
}

func (c *cluster) do(ctx context.Context, act acts.Act) {
	if _, err := c.acts.Do(ctx, act); err != nil {
		panic(err) // the act is this test's own
	}
}

// until waits for an instant of the world.
func (c *cluster) until(ctx context.Context, at time.Duration) bool {
	timer := time.NewTimer(at - c.world.Now())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// heard is how long after a pause a tick may still come that is run: what
// replicas take to look, by clocks that are off. Who was paused himself, or may
// have been cut off, hears of it later.
func (p params) heard() time.Duration {
	for _, t := range p.troubles {
		switch t.Fault {
		case sim.Partition, sim.ReplicaPause, sim.ReplicaClock:
			return 0
		}
	}
	return 3*time.Second + p.offsets
}

// hearing is what a process knows of the acts: nothing new while it is paused,
// nothing once it is dead.
type hearing struct {
	*schedtest.Acts
	process *sim.Process
}

// Open implements acts.Store.
func (h hearing) Open(ctx context.Context) (acts.Open, error) {
	if !h.process.Awake() {
		return acts.Open{}, locking.ErrNoQuorum
	}
	return h.Acts.Open(ctx)
}
