package sim_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A cluster is replicas in a world: incarnations that begin and end. It is the Fleet of
// the world's troubles.
type cluster struct {
	world    *sim.World
	params   params
	begin    time.Time // of the ticks
	guards   map[string]*sim.Guard
	commands schedtest.Commands

	mu           sync.Mutex
	incarnations []*incarnation // all of them
	last         []*incarnation // of each replica
	rolls        sync.WaitGroup
}

// Process implements sim.Fleet.
func (c *cluster) Process(i int) *sim.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[i].process
}

// Start implements sim.Fleet.
func (c *cluster) Start(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last[i].process.Dead() {
		c.replace(i, c.last[i].version)
	}
}

// RollOut implements sim.Fleet.
func (c *cluster) RollOut(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.last[i]
	old.stop()
	c.rolls.Go(func() {
		<-old.ended
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.last[i] == old { // nobody was faster
			c.replace(i, old.version+1)
		}
	})
}

// Reload implements sim.Fleet.
func (c *cluster) Reload(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.last[i]
	c.rolls.Go(l.reload)
}

// replace begins the next incarnation of a replica. The caller holds the mutex.
func (c *cluster) replace(i, version int) {
	old := c.last[i]
	c.last[i] = c.start(i, len(c.incarnations), version, old.process.Clock)
	c.incarnations = append(c.incarnations, c.last[i])
}

// drain ends all incarnations, and waits for their end.
func (c *cluster) drain() {
	c.rolls.Wait()
	c.mu.Lock()
	incarnations := slices.Clone(c.incarnations)
	c.mu.Unlock()
	for _, l := range incarnations {
		l.stop()
	}
	for _, l := range incarnations {
		<-l.ended
	}
}

// schedule is when a job has its ticks in a version of the configuration. Jobs
// have none at the same time: what one replica then does would depend on which
// of its goroutines is faster.
func (c *cluster) schedule(job, version int) (s schedule.Schedule, has bool) {
	if job == 2 && version%2 == 1 {
		return nil, false
	}
	first, last := c.begin.Add(phase(job)), c.begin.Add(c.params.length)
	if job == 1 && version%2 == 1 {
		first = first.Add(c.params.every / 2).Truncate(time.Millisecond)
	}
	e := schedule.Every{Interval: c.params.every, Offset: time.Duration(first.UnixNano()) % c.params.every}
	s, err := schedule.Between(e, first, last.Add(1))
	if err != nil {
		panic(err) // the length of a world is longer than a second
	}
	return s, true
}

// phase is when a job's first tick comes, after the beginning of all ticks.
func phase(job int) time.Duration {
	return time.Duration(job)*137*time.Millisecond + 113*time.Millisecond
}

// A result is what came of one world.
type result struct {
	params     params
	record     sim.Record
	faults     map[sim.Fault]int
	violations []sim.Violation
	calls      map[string]int // of scripts, while the replicas lived
}

// simulate runs the world of p in a bubble of its own.
func simulate(t *testing.T, p params) (r result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		r = newCluster(p).live()
	})
	return r
}

func newCluster(p params) *cluster {
	c := &cluster{
		world:  sim.NewWorld(p.seed, p.weather, p.machines()),
		params: p, guards: map[string]*sim.Guard{},
	}
	luck := p.seed.Draw("cluster")
	off := func() time.Duration { return time.Duration((2*luck.Float64() - 1) * float64(p.offsets)) }
	now := time.Now()
	for _, n := range c.world.Nodes {
		n.Clock = sim.NewClock(now, off(), p.rate(luck))
	}
	c.begin = now.Add(lead).Round(0)
	for i := range p.jobs {
		c.guards[jobName(i)] = &sim.Guard{}
	}
	for i := range p.replicas {
		c.last = append(c.last, c.start(i, i, 0, sim.NewClock(now, off(), 0)))
	}
	c.incarnations = append(c.incarnations, c.last...)
	return c
}

// live runs the world from its first tick to its rest, and looks at what is
// left.
func (c *cluster) live() result {
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	c.world.Plan(c, grace, c.params.troubles)
	for _, p := range c.params.pauses {
		running.Go(func() { c.pause(ctx, p) })
	}
	running.Go(func() { c.world.Run(ctx) })

	time.Sleep(lead + c.params.length)
	c.world.Calm()
	time.Sleep(settling)
	c.drain()
	r := result{params: c.params, record: sim.Record{
		Margin: margin, Clocks: c.params.offsets, Exclusive: c.params.exclusive(), Calm: c.params.calm,
		Start: c.begin.Add(-lead), Rules: c.params.rules(), Heard: c.params.heard(),
		Limits: c.params.limits(), Slots: c.params.slots(),
	}}
	r.calls = c.world.Calls()
	ledgers, err := c.ledgers(ctx)
	end()
	running.Wait()
	r.record.Events, r.faults = c.world.History.Events(), c.world.History.Faults()
	if c.remembers() {
		r.record.Ledgers = ledgers
	}
	r.violations = sim.Check(r.record)
	for _, l := range c.incarnations {
		// Jobs that do not mind their context, and pauses, make a drain too long.
		_, stuck := errors.AsType[*scheduler.StuckError](l.err)
		if l.err != nil && !stuck && !l.process.Dead() {
			r.violations = append(r.violations, sim.Violation{Promise: sim.Known, At: c.world.Now(), Text: l.process.Name + ": " + l.err.Error()})
		}
	}
	if err != nil && r.record.Ledgers != nil {
		r.violations = append(r.violations, sim.Violation{Promise: sim.Known, At: c.world.Now(), Text: err.Error()})
	}
	time.Sleep(4 * ttl) // a function that does not mind its context may outlast the drain of its replica
	return r
}

// remembers reports whether every quorum has a node that forgot nothing.
func (c *cluster) remembers() bool {
	forgot := 0
	for _, n := range c.world.Nodes {
		if n.Forgot() {
			forgot++
		}
	}
	return forgot <= len(c.world.Nodes)/2
}

// ledgers reads what the nodes have of all jobs.
func (c *cluster) ledgers(ctx context.Context) (map[string]sim.Ledger, error) {
	reader, err := newClient(c.world, c.world.NewProcess("reader", sim.NewClock(time.Now(), 0, 0)), ttl, c.params.backend())
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.conn.close() }()
	ledgers := map[string]sim.Ledger{}
	for i := range c.params.jobs {
		entries, err := reader.conn.ledger.Ticks(ctx, ledger.Query{Job: jobName(i), Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("reading the ledger at the end: %w", err)
		}
		l := sim.Ledger{Due: c.due(i), CaughtUp: c.params.caughtUp(i), CatchUp: c.params.catchUp(i)}
		for _, e := range entries {
			l.Lines = append(l.Lines, sim.Line{
				Tick: e.Tick, Token: uint64(e.Token), Outcome: string(e.Outcome), Reason: e.Reason.String(), Ran: e.Ran(), Trigger: string(e.Trigger),
			})
		}
		ledgers[jobName(i)] = l
	}
	return ledgers, nil
}

// due are the ticks of a job that some replica saw come due. It must have lived
// to the end: what one that died knew, it may have been alone to know.
func (c *cluster) due(job int) []time.Time {
	seen := map[time.Time]bool{}
	for _, l := range c.last {
		if !l.left {
			continue
		}
		for _, v := range l.versions {
			s, has := c.schedule(job, v.number)
			if !has {
				continue
			}
			for at := s.Next(v.from); !at.IsZero() && (v.until.IsZero() || at.Before(v.until)); at = s.Next(at) {
				seen[at] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), time.Time.Compare)
}

var _ sim.Fleet = (*cluster)(nil)
