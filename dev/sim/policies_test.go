package sim_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/jobs"
)

// A policy is what a job of a world asks for. The zero one is the default.
type policy struct {
	overlap jobs.Overlap
	catchUp jobs.CatchUp
	onCrash jobs.OnCrash
	retry   jobs.Retry
	group   int // the size of the group that all jobs share which have one; 0: none
}

// group is the name of the one there is.
const group = "g"

// apply sets the policy of a job.
func (p policy) apply(j *jobs.Job) {
	j.Overlap, j.CatchUp, j.OnCrash, j.Retry = p.overlap, p.catchUp, p.onCrash, p.retry
	if p.group > 0 {
		j.Group, j.GroupSize = group, p.group
	}
}

// TestPolicies is TestSim with jobs of all policies, in storms in which all
// replicas are also killed at once. It must come to every situation that their
// promises are about.
func TestPolicies(t *testing.T) {
	t.Parallel()
	withPolicies(t, "TestPolicies", drawPolicies)
}

// TestPoliciesOnStore is TestPolicies on one store.
func TestPoliciesOnStore(t *testing.T) {
	t.Parallel()
	withPolicies(t, "TestPoliciesOnStore", func(seed sim.Seed) params { return drawPolicies(seed).onStore() })
}

// TestPoliciesOnSQL is TestPolicies on a database.
func TestPoliciesOnSQL(t *testing.T) {
	t.Parallel()
	withPolicies(t, "TestPoliciesOnSQL", func(seed sim.Seed) params { return drawPolicies(seed).onSQL() })
}

func withPolicies(t *testing.T, test string, draw func(sim.Seed) params) {
	t.Helper()
	worlds := *seeds
	if worlds == sample {
		worlds = sized(samplePolicies, samplePolicies)
	}
	total := run(t, test, worlds, draw)
	if worlds < samplePolicies || t.Failed() {
		return
	}
	for _, situation := range sim.Situations() {
		if total.Came(situation) == 0 {
			t.Errorf("no %s in %d worlds", situation, worlds)
		}
	}
	if total.Count(sim.Began) < 2*worlds {
		t.Errorf("only %d runs in %d worlds: they show little", total.Count(sim.Began), worlds)
	}
}

// drawPolicies returns the params of a seed, with policies. In the worlds that
// would be calm replicas die, all at once to begin with, and nothing else
// happens.
func drawPolicies(seed sim.Seed) params {
	p := draw(seed)
	luck := seed.Draw("policies")
	size := luck.IntN(3) // of the group; 0: none
	if size > 0 {
		p.jobs = max(p.jobs, 2)
	}
	for range p.jobs {
		p.policies = append(p.policies, drawPolicy(luck, p.length, size))
	}
	for job := range luck.IntN(p.jobs + 1) {
		p.pauses = append(p.pauses, p.drawPause(luck, job))
	}
	if p.calm {
		p.calm, p.troubles = false, p.blackout(luck)
		for i := range p.policies {
			p.policies[i].catchUp = p.timeEnough(p.policies[i].catchUp.Mode)
		}
		return p
	}
	p.brief = 1
	for range luck.IntN(4) {
		p.troubles = append(p.troubles, p.reload(luck))
	}
	if luck.IntN(2) == 0 {
		p.troubles = append(p.troubles, p.blackout(luck)...)
		p.policies[0].catchUp, p.brief = p.timeEnough(jobs.CatchUpAll), 0
	}
	return p
}

// timeEnough is to catch up whatever was missed.
func (p params) timeEnough(mode jobs.CatchUpMode) jobs.CatchUp {
	return jobs.CatchUp{Mode: mode, Window: p.length + settling, Max: 100}
}

func drawPolicy(luck *rand.Rand, length time.Duration, size int) policy {
	p := policy{
		overlap: []jobs.Overlap{
			jobs.OverlapSkip, jobs.OverlapQueue, jobs.OverlapCancelPrevious, jobs.OverlapAllow,
		}[luck.IntN(4)],
		onCrash: []jobs.OnCrash{jobs.CrashSkip, jobs.CrashRerun}[luck.IntN(2)],
		retry:   jobs.Retry{Attempts: 1 + luck.IntN(3), Backoff: 100 * time.Millisecond},
		catchUp: jobs.CatchUp{
			Mode:   []jobs.CatchUpMode{jobs.CatchUpNone, jobs.CatchUpLast, jobs.CatchUpAll, jobs.CatchUpAll}[luck.IntN(4)],
			Window: length / 4 * time.Duration(1+luck.IntN(8)), Max: 3 + luck.IntN(50),
		},
	}
	if p.overlap == jobs.OverlapAllow {
		p.onCrash = jobs.CrashSkip // the other one goes not with it
	}
	if luck.IntN(4) > 0 {
		p.group = size
	}
	return p
}

// drawPause begins at any time, or when a tick has just come.
func (p params) drawPause(luck *rand.Rand, job int) pause {
	from := time.Duration(luck.Float64() * float64(p.length))
	if luck.IntN(2) == 0 {
		from = from.Truncate(p.every) + phase(job) + time.Duration(luck.Float64()*float64(150*time.Millisecond))
	}
	return pause{job, lead + from, lead + from + time.Duration(luck.Float64()*float64(p.length))}
}

// reload is another configuration for some replica.
func (p params) reload(luck *rand.Rand) sim.Trouble {
	return sim.Trouble{Fault: sim.Reload, At: lead + time.Duration(luck.Float64()*float64(p.length)), Replica: luck.IntN(p.replicas)}
}

// blackout is the death of all replicas at once, and after it, while they catch
// up, once more of all but one.
func (p params) blackout(luck *rand.Rand) []sim.Trouble {
	share := func(least, most float64) time.Duration {
		return time.Duration((least + luck.Float64()*(most-least)) * float64(p.length))
	}
	down := sim.Trouble{Fault: sim.ReplicaCrash, At: lead + share(0, 0.5), For: share(0, 0.5)}
	var list []sim.Trouble
	for i := range p.replicas {
		down.Replica = i
		list = append(list, down)
	}
	again, survivor := down, luck.IntN(p.replicas)
	again.At += down.For + time.Second + time.Duration(luck.Float64()*float64(ttl))
	again.For = time.Duration(luck.Float64() * float64(2*ttl))
	for i := range p.replicas {
		if again.Replica = i; i != survivor {
			list = append(list, again)
		}
	}
	return list
}

// rules are what the policies of a world promise.
func (p params) rules() map[string]sim.Rules {
	rules := map[string]sim.Rules{}
	for i, policy := range p.policies {
		r := sim.Rules{Replaces: policy.overlap == jobs.OverlapCancelPrevious, Again: p.again(i)}
		soon := policy.overlap == jobs.OverlapSkip || policy.overlap == jobs.OverlapAllow
		if p.punctual() && policy.onCrash != jobs.CrashRerun && soon {
			r.Latest = 2*ttl + p.offsets + time.Second
			if policy.catchUp.Mode != jobs.CatchUpNone {
				r.Latest = max(r.Latest, policy.catchUp.Window+p.offsets+time.Second)
			}
		}
		if p.punctual() && r.Replaces && policy.catchUp.Mode == jobs.CatchUpNone {
			r.Replaced = p.offsets + time.Second
		}
		if policy.group > 0 {
			r.Group, r.Size = group, policy.group
		}
		rules[jobName(i)] = r
	}
	return rules
}

// limits are those of the groups: what lets leases overlap lets slots, too.
func (p params) limits() map[string]int {
	limits := map[string]int{}
	for _, policy := range p.policies {
		if policy.group > 0 && p.exclusive() {
			limits[group] = policy.group
		}
	}
	return limits
}

// slots are the names of the slots of the group.
func (p params) slots() map[string]string {
	return map[string]string{"group:" + group + ":0": group, "group:" + group + ":1": group}
}

// punctual reports whether nothing makes a replica late, sets its clock, or lets
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

// caughtUp reports whether no tick of a job may be missed in the end: the policy
// has it, there was time, and nothing happened but deaths of replicas.
func (p params) caughtUp(job int) bool {
	return job < len(p.policies) && p.policies[job].catchUp.Mode == jobs.CatchUpAll && p.mild(job)
}

// catchUp is how long after a tick of the job a replica may still run it; 0: nothing is caught up.
func (p params) catchUp(job int) time.Duration {
	if job >= len(p.policies) || p.policies[job].catchUp.Mode == jobs.CatchUpNone {
		return 0
	}
	return p.policies[job].catchUp.Window
}

// again reports whether no run of a job may stay interrupted. Ticks of a job are not run
// again before its pause ends, nor those for which there is no slot.
func (p params) again(job int) bool {
	paused := slices.ContainsFunc(p.pauses, func(a pause) bool { return a.job == job && a.to > lead+p.length })
	return p.policies[job].onCrash == jobs.CrashRerun && p.mild(job) && !paused && p.policies[job].group == 0
}

// mild reports whether nothing happened but deaths of replicas, and there was time
// for all ticks of the job.
func (p params) mild(job int) bool {
	policy := p.policies[job]
	room := policy.catchUp.Window >= p.length+settling && policy.catchUp.Max > int(p.length/p.every)
	deaths := !slices.ContainsFunc(p.troubles, func(t sim.Trouble) bool { return t.Fault != sim.ReplicaCrash })
	return room && deaths && p.weather.Lost == 0 && p.weather.Late == 0
}
