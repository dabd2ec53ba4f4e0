package sim_test

import (
	"context"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// A pause is what somebody asks of a job, and takes back, while its ticks are
// claimed. That of every other job ends by itself.
type pause struct {
	job      int
	from, to time.Duration
}

// pause asks for it when the time comes.
func (c *cluster) pause(ctx context.Context, p pause) {
	command := commands.Command{Kind: commands.Pause, Job: jobName(p.job), By: "sim", Reason: "to see"}
	if !c.until(ctx, p.from) {
		return
	}
	if p.job%2 == 1 && p.to-p.from >= time.Second {
		command.Within = p.to - p.from
	}
	paused := sim.Event{What: sim.Paused, Job: command.Job}
	if made := c.do(ctx, command); command.Within > 0 {
		paused.Until = c.world.Now() + time.Until(made.Ends())
	}
	c.world.History.Add(paused)
	if !c.until(ctx, p.to) {
		return
	}
	c.world.History.Add(sim.Event{What: sim.Resumed, Job: command.Job})
	if command.Within == 0 {
		command.Kind = commands.Resume
		c.do(ctx, command)
	}
}

func (c *cluster) do(ctx context.Context, command commands.Command) commands.Command {
	made, err := c.commands.Do(ctx, command)
	if err != nil {
		panic(err) // the command is this test's own
	}
	return made
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

// hearing is what a process knows of the commands: nothing new while it is paused,
// nothing once it is dead.
type hearing struct {
	*schedtest.Commands
	process *sim.Process
}

// Open implements commands.Store.
func (h hearing) Open(ctx context.Context) (commands.Open, error) {
	if !h.process.Awake() {
		return commands.Open{}, locking.ErrNoQuorum
	}
	return h.Commands.Open(ctx)
}
