package sim_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/internal/sim"
)

// A policy is what a job of a world asks for. The zero one is the default.
type policy struct {
	overlap scheduler.Overlap
	catchUp scheduler.CatchUp
	onCrash scheduler.OnCrash
	retry   scheduler.Retry
}

// apply sets the policy of a job.
func (p policy) apply(j *scheduler.Job) {
	j.Overlap, j.CatchUp, j.OnCrash, j.Retry = p.overlap, p.catchUp, p.onCrash, p.retry
}

// TestPolicies is TestSim with jobs of all policies, in storms in which all
// replicas are also killed at once.
func TestPolicies(t *testing.T) {
	t.Parallel()
	total := run(t, "TestPolicies", drawPolicies)
	if *seeds >= 8 && total.Count(sim.Began) < 2**seeds {
		t.Errorf("only %d runs in %d worlds: they show little", total.Count(sim.Began), *seeds)
	}
}

// drawPolicies returns the params of a seed, with policies. In the worlds that
// would be calm all replicas die at once, and nothing else happens.
func drawPolicies(seed sim.Seed) params {
	p := draw(seed)
	luck := seed.Draw("policies")
	for range p.jobs {
		p.policies = append(p.policies, drawPolicy(luck, p.length))
	}
	for job := range luck.IntN(p.jobs + 1) {
		from := lead + time.Duration(luck.Float64()*float64(p.length))
		p.pauses = append(p.pauses, pause{job, from, from + time.Duration(luck.Float64()*float64(p.length))})
	}
	if p.calm {
		p.calm, p.troubles = false, p.blackout(luck)
		for i := range p.policies { // time enough
			p.policies[i].catchUp.Window, p.policies[i].catchUp.Max = p.length+settling, 100
		}
		return p
	}
	for range luck.IntN(4) {
		p.troubles = append(p.troubles, sim.Trouble{
			Fault: sim.Reload, At: lead + time.Duration(luck.Float64()*float64(p.length)), Replica: luck.IntN(p.replicas),
		})
	}
	if luck.IntN(2) == 0 {
		p.troubles = append(p.troubles, p.blackout(luck)...)
	}
	return p
}

func drawPolicy(luck *rand.Rand, length time.Duration) policy {
	return policy{
		overlap: []scheduler.Overlap{scheduler.OverlapSkip, scheduler.OverlapQueue, scheduler.OverlapCancelPrevious}[luck.IntN(3)],
		onCrash: []scheduler.OnCrash{scheduler.CrashSkip, scheduler.CrashRerun}[luck.IntN(2)],
		retry:   scheduler.Retry{Attempts: 1 + luck.IntN(3), Backoff: 100 * time.Millisecond},
		catchUp: scheduler.CatchUp{
			Mode:   []scheduler.CatchUpMode{scheduler.CatchUpNone, scheduler.CatchUpLast, scheduler.CatchUpAll, scheduler.CatchUpAll}[luck.IntN(4)],
			Window: length / 4 * time.Duration(1+luck.IntN(8)), Max: 3 + luck.IntN(50),
		},
	}
}

// blackout is the death of all replicas at once.
func (p params) blackout(luck *rand.Rand) []sim.Trouble {
	down := sim.Trouble{
		Fault: sim.ReplicaCrash, At: lead + time.Duration(luck.Float64()*float64(p.length)),
		For: time.Duration(luck.Float64() * float64(p.length)),
	}
	list := make([]sim.Trouble, p.replicas)
	for i := range list {
		list[i] = down
		list[i].Replica = i
	}
	return list
}

// rules are what the policies of a world promise.
func (p params) rules() map[string]sim.Rules {
	rules := map[string]sim.Rules{}
	for i, policy := range p.policies {
		var r sim.Rules
		if p.punctual() && policy.onCrash != scheduler.CrashRerun && policy.overlap == scheduler.OverlapSkip {
			r.Latest = 2*ttl + p.offsets + time.Second
			if policy.catchUp.Mode != scheduler.CatchUpNone {
				r.Latest = max(r.Latest, policy.catchUp.Window+p.offsets+time.Second)
			}
		}
		if p.punctual() && policy.overlap == scheduler.OverlapCancelPrevious && policy.catchUp.Mode == scheduler.CatchUpNone {
			r.Replaced = p.offsets + time.Second
		}
		rules[jobName(i)] = r
	}
	return rules
}

// punctual tells whether nothing makes a replica late, sets its clock, or lets
// replicas disagree on when the ticks are.
func (p params) punctual() bool {
	for _, t := range p.troubles {
		switch t.Fault {
		case sim.ReplicaPause, sim.ReplicaClock, sim.RollOut, sim.Reload:
			return false
		}
	}
	return true
}

// caughtUp tells whether no tick of a job may be missed in the end: the policy
// has it, there was time, and nothing happened but deaths of replicas.
func (p params) caughtUp(job int) bool {
	if job >= len(p.policies) || p.policies[job].catchUp.Mode != scheduler.CatchUpAll {
		return false
	}
	policy := p.policies[job]
	room := policy.catchUp.Window >= p.length+settling && policy.catchUp.Max > int(p.length/p.every)
	deaths := !slices.ContainsFunc(p.troubles, func(t sim.Trouble) bool { return t.Fault != sim.ReplicaCrash })
	return room && deaths && p.weather.Lost == 0 && p.weather.Late == 0
}
