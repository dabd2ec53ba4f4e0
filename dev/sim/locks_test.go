package sim_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/locking"
)

// contenders is how many clients want the one lock of a world of locks.
const contenders = 4

// drawLocks returns the params of a world in which nothing but locks are wanted,
// all the time. In every second one the clients claim ticks, of which many are
// due at once, and not all at most once; in others their clocks are so far
// behind that tokens grow by what nodes remember alone. Nodes' clocks are almost
// as fast as the drift allows.
func drawLocks(seed sim.Seed) params {
	luck := seed.Draw("locks")
	p := params{
		seed: seed, nodes: []int{1, 3, 3, 3, 5}[luck.IntN(5)], replicas: contenders, length: time.Minute,
		weather: sim.Weather{
			Delay: time.Duration(1+luck.IntN(10)) * time.Millisecond, Lost: 0.05 * luck.Float64(),
			Late: 0.01 * luck.Float64(), Twice: 0.01 * luck.Float64(), Lag: 2 * ttl,
		},
		offsets: time.Duration(luck.IntN(2000)) * time.Millisecond, rates: 0.009, silent: 0.02,
	}
	if luck.IntN(2) == 0 {
		p.every = 50 * time.Millisecond
	} else if luck.IntN(2) == 0 {
		p.behind = time.Hour
	}
	kinds := []sim.Fault{sim.NodeCrash, sim.NodeCrash, sim.Outage, sim.NodeFreeze, sim.Partition, sim.ReplicaPause, sim.ReplicaPause, sim.ReplicaClock}
	if luck.IntN(2) == 0 {
		kinds = append(kinds, sim.NodeClock)
	}
	p.troubles = sim.Storm{
		Nodes: p.nodes, Replicas: p.replicas, Length: p.length, Kinds: kinds, Count: luck.IntN(10),
		Longest: 2 * ttl, Step: 2 * time.Second,
		Memories: []sim.Memory{sim.All, sim.Lasting, sim.Older, sim.Older, sim.Nothing},
	}.Troubles(luck)
	return p
}

// crowd is the clients of a world of locks, which live as long as it does.
type crowd []*client

// Process implements sim.Fleet.
func (c crowd) Process(i int) *sim.Process { return c[i].process }

// Start implements sim.Fleet. Nobody is killed.
func (crowd) Start(int) {}

// RollOut implements sim.Fleet. Nothing is rolled out.
func (crowd) RollOut(int) {}

// Reload implements sim.Fleet. Nothing is reloaded.
func (crowd) Reload(int) {}

func simulateLocks(t *testing.T, p params) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := sim.NewWorld(p.seed, p.weather, p.machines())
		luck := p.seed.Draw("crowd")
		off := func() time.Duration { return time.Duration((2*luck.Float64() - 1) * float64(p.offsets)) }
		for _, n := range w.Nodes {
			n.Clock = sim.NewClock(time.Now(), off(), p.rate(luck))
		}
		var people crowd
		for i := range p.replicas {
			c, err := newClient(w, w.NewProcess("c"+strconv.Itoa(i), sim.NewClock(time.Now(), off()-p.behind, 0)), ttl, p.backend())
			if err != nil {
				t.Error(err)
				return
			}
			people = append(people, c)
		}
		r = result{params: p, record: sim.Record{Exclusive: p.exclusive()}}
		people.live(w, p)
		r.record.Events, r.faults = w.History.Events(), w.History.Faults()
		r.violations = sim.Check(r.record)
	})
	return r
}

// live lets all clients want the lock until the time is up.
func (c crowd) live(w *sim.World, p params) {
	ctx, end := context.WithCancel(context.Background())
	var world, people sync.WaitGroup
	w.Plan(c, grace, p.troubles)
	world.Go(func() { w.Run(ctx) })
	until, up := context.WithTimeout(ctx, p.length)
	for i, one := range c {
		people.Go(func() {
			_ = one.conn.declareNew(until)
			one.want(until, p, p.seed.Draw("client", strconv.Itoa(i)))
			_ = one.conn.close()
		})
	}
	people.Wait()
	up()
	end()
	world.Wait()
}

// want takes the lock as often as it can get it.
func (c *client) want(ctx context.Context, p params, luck *rand.Rand) {
	var running sync.WaitGroup
	defer running.Wait()
	watching, stop := context.WithCancel(context.Background())
	defer stop()
	running.Go(func() { c.conn.watch(watching) })
	for ctx.Err() == nil {
		req := locking.Request{Name: "lock", TTL: ttl, Holder: c.process.Name, Mode: locking.Mode(luck.IntN(2)), Direct: luck.IntN(2) == 0, Waiting: luck.IntN(4) == 0}
		if p.every > 0 {
			behind := time.Duration(luck.IntN(3)) * p.every
			req.Tick = c.process.Wall().Add(-behind).Truncate(p.every)
		}
		l, err := c.TryAcquire(ctx, req)
		if err == nil {
			c.use(l, p, luck)
		}
		time.Sleep(p.patience(err, luck))
	}
}

// patience is how long a client waits before it wants the lock again. Some do
// not believe in leases and come back at once.
func (p params) patience(err error, luck *rand.Rand) time.Duration {
	longest := 60 * time.Millisecond
	refused, ok := errors.AsType[*locking.AcquireError](err)
	switch {
	case p.haste > 0:
		longest = p.haste
	case !ok || luck.IntN(10) == 0:
	case errors.Is(err, locking.ErrTaken):
		if luck.IntN(3) > 0 {
			return time.Until(refused.Until) + time.Duration(luck.Int64N(int64(5*time.Millisecond)))
		}
		u := luck.Float64()
		return time.Duration(u * u * u * u * float64(time.Until(refused.Until)))
	case errors.Is(err, locking.ErrUnvouched), errors.Is(err, locking.ErrNoQuorum):
		longest = grace / 2
	}
	return time.Duration(luck.Float64() * float64(longest))
}

// use keeps the lock for a while, and mostly gives it back.
func (c *client) use(l locking.Lease, p params, luck *rand.Rand) {
	ctx := context.Background()
	e := c.event(l.Claim().Name, l.Claim().Token)
	if luck.IntN(20) == 0 {
		_ = l.Void(ctx)
		return
	}
	if luck.IntN(20) == 0 {
		for range 1 + luck.IntN(5) {
			time.Sleep(ttl / 3)
			_ = l.Extend(ctx)
		}
	}
	time.Sleep(time.Duration(luck.Float64() * float64(10*time.Millisecond)))
	c.process.Awake()
	if luck.Float64() < p.silent {
		c.add(sim.Returned, e) // without a word; the lease runs out
		return
	}
	brief, cancel := context.WithTimeout(ctx, time.Duration(1+luck.IntN(1000))*time.Millisecond)
	defer cancel()
	_ = l.Release(brief, nil)
}

// TestLocks lets four clients at a time take a lock again and again, while nodes
// lose messages, memory and time.
func TestLocks(t *testing.T) {
	t.Parallel()
	locks(t, "TestLocks", drawLocks)
}

// TestLocksOnStore is TestLocks on one store.
func TestLocksOnStore(t *testing.T) {
	t.Parallel()
	locks(t, "TestLocksOnStore", func(seed sim.Seed) params { return drawLocks(seed).onStore() })
}

// TestLocksOnSQL is TestLocks on a database.
func TestLocksOnSQL(t *testing.T) {
	t.Parallel()
	locks(t, "TestLocksOnSQL", func(seed sim.Seed) params { return drawLocks(seed).onSQL() })
}

func locks(t *testing.T, test string, draw func(sim.Seed) params) {
	t.Helper()
	wanted := sized(*claims, sampleClaims)
	total, began := sim.NewSummary(), time.Now()
	each(t, wanted, func(t *testing.T, i int) bool {
		p := draw(sim.Seed(*first + i))
		all := p.troubles
		p.troubles = keep(all, *only)
		r := simulateLocks(t, p)
		total.Add(r.record, r.faults, r.violations)
		if *verbose {
			for _, e := range r.record.Events {
				t.Log(e)
			}
		}
		if len(r.violations) == 0 {
			return total.Count(sim.Granted) < wanted
		}
		report(t, test, r, func(troubles []int) result {
			p := p
			p.troubles = pick(all, troubles)
			return simulateLocks(t, p)
		})
		return false
	})
	t.Logf("%v%.0f claims a minute", total, float64(total.Count(sim.Granted))/time.Since(began).Minutes())
}
