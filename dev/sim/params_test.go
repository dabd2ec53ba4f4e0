package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/dev/testkit/nodetest"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// What all worlds have in common. Replicas that were rolled out have a shorter
// ttl.
const (
	ttl     = 2 * time.Second
	grace   = 5 * time.Second
	timeout = 150 * time.Millisecond
	margin  = ttl / 10
	// lead is what new nodes take until they vouch, or a store without a clock.
	lead = grace + grace/2 + time.Second
	// settling is what a world has at its end, in calm weather, to come to rest:
	// a grace, the longest sleep of a replica, the window of its ticks.
	settling = 30 * time.Second
)

// params are what a world is made from. All of it follows from the seed.
type params struct {
	seed            sim.Seed
	nodes, replicas int
	store           bool // one store on the only node
	sql             bool // it is a database, below package sqlstore
	jobs            int
	length          time.Duration // ticks come due so long
	every           time.Duration // between two ticks of a job
	weather         sim.Weather
	troubles        []sim.Trouble
	calm            bool
	roster          bool
	offsets         time.Duration // by which clocks may be off
	behind          time.Duration // by which those of clients are, besides
	rates           float64       // by which nodes' clocks may be fast or slow
	fast            bool          // all of them are fast by that much
	silent          float64       // claims of locks that are never given back
	haste           time.Duration // how long clients wait at most for a lock, if not 0
	without         nodetest.Without
	withoutStore    checks // that the store leaves out
	dialect         sqlDialect
	turns           int           // claims that a replica has under way at once; 0: the default
	takes           time.Duration // how long a run takes, if not 0
	brief           int           // so many runs are short, for one that is not
	policies        []policy      // of the jobs; none: the defaults
	pauses          []pause
}

func (p params) String() string {
	return fmt.Sprintf("seed %d: %d replicas, %d nodes, %d jobs every %v %v for %v; clocks off by up to %v, those of clients %v behind; messages: up to %v, %.1f%% lost, %.1f%% late, %.1f%% twice; %d troubles",
		p.seed, p.replicas, p.nodes, p.jobs, p.every, p.policies, p.length, p.offsets, p.behind, p.weather.Delay,
		100*p.weather.Lost, 100*p.weather.Late, 100*p.weather.Twice, len(p.troubles))
}

// draw returns the params of a seed. Every eighth world is calm.
func draw(seed sim.Seed) params {
	luck := seed.Draw("params")
	p := params{
		seed: seed, nodes: []int{1, 3, 3, 3, 5, 5, 7}[luck.IntN(7)], replicas: 2 + luck.IntN(6), jobs: 1 + luck.IntN(3),
		every: time.Duration(1500+luck.IntN(2500)) * time.Millisecond, roster: luck.IntN(2) == 0,
		weather: sim.Weather{Delay: time.Duration(1+luck.IntN(20)) * time.Millisecond},
		calm:    seed%8 == 0, offsets: 100 * time.Millisecond, rates: 0.005, brief: 5,
	}
	p.length = p.every * time.Duration(6+luck.IntN(8))
	if p.calm {
		return p
	}
	p.offsets = []time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second}[luck.IntN(3)]
	if luck.IntN(2) == 0 {
		p.weather.Lost, p.weather.Twice = 0.1*luck.Float64(), 0.1*luck.Float64()
		p.weather.Late, p.weather.Lag = 0.05*luck.Float64(), time.Duration(luck.Float64()*float64(2*ttl))
	}
	p.troubles = storm(p, luck).Troubles(luck)
	for i := range p.troubles {
		p.troubles[i].At += lead
	}
	p.turns = []int{0, 0, 1, 2}[luck.IntN(4)]
	return p
}

// storm is the weather of all else. In every other storm nodes' clocks are set,
// and leases may overlap.
func storm(p params, luck *rand.Rand) sim.Storm {
	kinds := []sim.Fault{
		sim.NodeCrash, sim.NodeCrash, sim.Outage, sim.NodeFreeze, sim.Partition, sim.Partition,
		sim.ReplicaPause, sim.ReplicaPause, sim.ReplicaCrash, sim.ReplicaClock, sim.RollOut,
	}
	if luck.IntN(2) == 0 {
		kinds = append(kinds, sim.NodeClock)
	}
	return sim.Storm{
		Nodes: p.nodes, Replicas: p.replicas, Length: p.length, Kinds: kinds, Count: 1 + luck.IntN(12),
		Longest: 4 * ttl, Step: 4 * time.Second,
		Memories: []sim.Memory{sim.All, sim.All, sim.Lasting, sim.Older, sim.Nothing},
	}
}

// onStore are the same on one store: its troubles are those of the first node. A connection
// delivers no request twice.
func (p params) onStore() params {
	p.store, p.nodes, p.weather.Twice = true, 1, 0
	p.troubles = slices.DeleteFunc(p.troubles, func(t sim.Trouble) bool { return t.Node != 0 && t.Fault.OfNode() })
	for i := range p.troubles {
		p.troubles[i].Node = 0
	}
	return p
}

// statements are how many a commit takes, one after the other.
const statements = 5

// onSQL are the same on a database: MySQL, or in odd worlds SQLite.
func (p params) onSQL() params {
	p = p.onMySQL()
	if p.seed%2 == 1 {
		p.dialect = likeSQLite()
	}
	return p
}

// onMySQL are the same as onStore on a database. A commit may take as long as there, so each of its
// statements takes a part of that, and the network loses as many commits.
func (p params) onMySQL() params {
	p = p.onStore()
	p.sql, p.dialect = true, likeMySQL()
	p.weather.Delay /= statements
	p.weather.Lost /= statements
	p.weather.Late /= statements
	return p
}

// backend is what the processes of the world share.
func (p params) backend() backend {
	switch {
	case p.sql:
		return atStore(func(process *sim.Process) kv.Server { return newSQLClient(process.Name, process.Call, p.dialect) })
	case p.store:
		return atStore(func(process *sim.Process) kv.Server { return remoteStore{process} })
	}
	list := make([]int, p.nodes)
	for i := range list {
		list[i] = i
	}
	return atNodes(list)
}

// machines are those of the nodes, or of the store.
func (p params) machines() []sim.Machine {
	switch {
	case p.sql:
		return []sim.Machine{newDatabase()}
	case p.store:
		return []sim.Machine{&storeMachine{without: p.withoutStore, clockless: p.seed%2 == 1}}
	}
	return machines(p.nodes, p.without)
}

// rate is by how much a node's clock is fast.
func (p params) rate(luck *rand.Rand) float64 {
	if p.fast {
		return p.rates
	}
	return (2*luck.Float64() - 1) * p.rates
}

// exclusive reports whether nothing lets leases overlap.
func (p params) exclusive() bool {
	for _, t := range p.troubles {
		if t.Fault == sim.NodeClock || t.Anyway {
			return false
		}
	}
	return true
}
