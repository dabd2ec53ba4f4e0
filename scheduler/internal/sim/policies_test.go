package sim_test

import (
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

// drawPolicies returns the params of a seed, with policies.
func drawPolicies(seed sim.Seed) params {
	p := draw(seed)
	luck := seed.Draw("policies")
	for range p.jobs {
		p.policies = append(p.policies, policy{
			overlap: []scheduler.Overlap{scheduler.OverlapSkip, scheduler.OverlapQueue, scheduler.OverlapCancelPrevious}[luck.IntN(3)],
			retry:   scheduler.Retry{Attempts: 1 + luck.IntN(3), Backoff: 100 * time.Millisecond},
		})
	}
	if p.calm {
		return p
	}
	for range luck.IntN(4) {
		p.troubles = append(p.troubles, sim.Trouble{
			Fault: sim.Reload, At: lead + time.Duration(luck.Float64()*float64(p.length)), Replica: luck.IntN(p.replicas),
		})
	}
	if luck.IntN(2) == 0 {
		return p
	}
	down := sim.Trouble{
		Fault: sim.ReplicaCrash, At: lead + time.Duration(luck.Float64()*float64(p.length)),
		For: time.Duration(luck.Float64() * float64(p.length)),
	}
	for i := range p.replicas {
		down.Replica = i
		p.troubles = append(p.troubles, down)
	}
	return p
}

// rules are what the policies of a world promise.
func (p params) rules() map[string]sim.Rules {
	rules := map[string]sim.Rules{}
	for i, policy := range p.policies {
		var r sim.Rules
		if p.punctual() && policy.onCrash != scheduler.CrashRerun && policy.catchUp.Mode == "" && policy.overlap == scheduler.OverlapSkip {
			r.Latest = 2*ttl + p.offsets + time.Second
		}
		if p.punctual() && policy.overlap == scheduler.OverlapCancelPrevious {
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
