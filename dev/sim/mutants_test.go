package sim_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/dev/testkit/nodetest"
)

// mostWorlds is how many worlds may pass until one shows what is wrong. Worlds on a database are not quite the same
// each time: of what is rarest there, one in 40 shows it. soundWorlds is how many are tried with nothing wrong.
const (
	mostWorlds  = 600
	soundWorlds = 60
)

// TestChecksAreNeeded leaves out one check of the nodes at a time, and wants the
// promise broken that it protects: a simulation that stays green without a check
// does not test it. The same worlds with all checks break nothing.
func TestChecksAreNeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		without nodetest.Without
		storm   func(params) params
		broken  []string
	}{
		{"tokens not above the fence are accepted", nodetest.Without{Fence: true}, echoes, []string{sim.Tokens}},
		{"ticks are not looked at", nodetest.Without{Tick: true}, ticks, []string{sim.Once}},
		{"restarts go unnoticed", nodetest.Without{Restart: true}, outages, []string{sim.Tokens, sim.Once}},
		{"locks are freed whose ever they are", nodetest.Without{Compare: true}, echoes, []string{sim.Alone}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			breaks(t, tt.broken, func(seed sim.Seed) params {
				p := tt.storm(drawLocks(seed))
				p.without = tt.without
				return p
			})
			whole(t, func(seed sim.Seed) params { return tt.storm(drawLocks(seed)) })
		})
	}
}

// TestStoreChecksAreNeeded is TestChecksAreNeeded on one store.
func TestStoreChecksAreNeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		without checks
		storm   func(params) params
		broken  []string
	}{
		{"another incarnation goes unnoticed", checks{incarnation: true}, outages, []string{sim.Tokens, sim.Once}},
		{"transactions win whatever they compare", checks{versions: true}, ticks, []string{sim.Once}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			breaks(t, tt.broken, func(seed sim.Seed) params {
				p := tt.storm(drawLocks(seed)).onStore()
				p.withoutStore = tt.without
				return p
			})
			whole(t, func(seed sim.Seed) params { return tt.storm(drawLocks(seed)).onStore() })
		})
	}
}

// TestLocksOfRowsAreNeeded is TestChecksAreNeeded on a database like MySQL: statements leave out locks of rows, or the
// identity of the server. TestComparedIsLocked is for the locks that are not here.
func TestLocksOfRowsAreNeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		spoil  func(*sqlDialect)
		storm  func(params) params
		broken []string
	}{
		{"records that change are not locked", func(d *sqlDialect) { d.ChangeRecords = "" }, ticks, []string{sim.Once}},
		{"what is made is not locked", func(d *sqlDialect) { d.ChangeSlots = "" }, ticks, []string{sim.Once}},
		{"all servers look alike", func(d *sqlDialect) { d.Identity = "'one'" }, outages, []string{sim.Tokens, sim.Once}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			breaks(t, tt.broken, func(seed sim.Seed) params {
				p := tt.storm(drawLocks(seed)).onMySQL()
				tt.spoil(&p.dialect)
				return p
			})
			whole(t, func(seed sim.Seed) params { return tt.storm(drawLocks(seed)).onMySQL() })
		})
	}
}

// TestAssumptionsAreNeeded does what the protocol assumes that nobody does, and
// wants a promise broken.
func TestAssumptionsAreNeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		storm func(params) params
	}{
		// A clock that is set back by no more than half a grace does no harm.
		{"nodes forget, and their clocks are set back", func(p params) params {
			p = outages(p)
			for i := range p.troubles {
				p.troubles[i].Memory, p.troubles[i].By, p.troubles[i].Anyway = sim.Nothing, -2*grace, true
			}
			return p
		}},
		// It is the latest reading ever that counts, not the last before the crash.
		{"nodes forget what they accepted while their clocks were ahead", func(p params) params {
			p = outages(p)
			for i := range p.troubles {
				p.troubles[i].Memory, p.troubles[i].By, p.troubles[i].Anyway = sim.Nothing, 0, true
			}
			ahead := func(t sim.Trouble) {
				t.At, t.By = time.Second, time.Minute
				p.troubles = append(p.troubles, t)
				t.At, t.By = 4*time.Second, -time.Minute
				p.troubles = append(p.troubles, t)
			}
			for i := range p.nodes {
				ahead(sim.Trouble{Fault: sim.NodeClock, Node: i})
			}
			for i := range p.replicas {
				ahead(sim.Trouble{Fault: sim.ReplicaClock, Replica: i})
			}
			return p
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			breaks(t, []string{sim.Tokens, sim.Once}, func(seed sim.Seed) params { return tt.storm(drawLocks(seed)) })
		})
	}
}

// TestFastClocks lets leases run out on nodes whose clocks are almost as fast as
// the drift allows, with clients who cannot wait.
func TestFastClocks(t *testing.T) {
	t.Parallel()
	whole(t, func(seed sim.Seed) params {
		p := drawLocks(seed)
		p.every, p.behind, p.troubles, p.length = 0, 0, nil, 20*time.Second
		p.fast, p.silent, p.haste = true, 0.5, 10*time.Millisecond
		return p
	})
}

// breaks wants a world in which one of the promises is broken.
func breaks(t *testing.T, promises []string, draw func(sim.Seed) params) {
	t.Helper()
	total := sim.NewSummary()
	for seed := sim.Seed(1); seed <= mostWorlds; seed++ {
		r := simulateLocks(t, draw(seed))
		total.Add(r.record, r.faults, r.violations)
		for _, p := range promises {
			if total.Violations(p) > 0 {
				t.Logf("seed %d: %v", seed, r.violations[0])
				return
			}
		}
	}
	t.Errorf("none of %q is broken in %d worlds: %v", promises, mostWorlds, total)
}

// whole wants as many worlds, with -short fewer, in which no promise is broken.
func whole(t *testing.T, draw func(sim.Seed) params) {
	t.Helper()
	for seed := sim.Seed(1); seed <= sim.Seed(sized(soundWorlds, soundWorlds)); seed++ {
		if r := simulateLocks(t, draw(seed)); len(r.violations) > 0 {
			t.Errorf("seed %d: %v", seed, r.violations[0])
		}
	}
}

// echoes is a world of plain locks in which requests come again, when their
// lease has ended and before that.
func echoes(p params) params {
	p.every, p.behind, p.length = 0, time.Hour, 30*time.Second
	p.nodes = 1
	p.weather.Twice, p.weather.Lag = 0.1, ttl/4
	p.troubles = nil
	return p
}

// ticks is a world in which ticks are claimed.
func ticks(p params) params {
	p.every, p.behind, p.length, p.troubles = 50*time.Millisecond, 0, 10*time.Second, nil
	return p
}

// outages is a world in which all nodes fail at once, again and again, and come
// back with what they knew a little earlier.
func outages(p params) params {
	p.length = 30 * time.Second
	luck := p.seed.Draw("outages")
	p.troubles = sim.Storm{
		Nodes: p.nodes, Replicas: p.replicas, Length: p.length, Kinds: []sim.Fault{sim.Outage}, Count: 4,
		Longest: 300 * time.Millisecond, Memories: []sim.Memory{sim.Older},
	}.Troubles(luck)
	return p
}
