package main

import (
	"math"
	"time"
)

// A Bill is what one instant costs, or is said to cost.
type Bill struct {
	Calls    map[kind]float64 // per tick, to all nodes together
	Commands float64          // per tick; a command holds the calls of a batch
	Busy     time.Duration    // of one node's processor, for the ticks of one instant
	Last     time.Duration    // behind the nominal time, until the last tick was claimed
	Wrong    int              // ticks that did not run exactly once
}

// calls is the sum of the calls per tick.
func (b Bill) calls() float64 {
	sum := 0.0
	for _, n := range b.Calls {
		sum += n
	}
	return sum
}

// Formula is the bill by arithmetic.
//
// Of R replicas one pays: a COMMIT and a FINISH at all N nodes. Every other
// one looks once, at one node, if the run has ended when its turn comes; while
// the run goes on it looks until a quorum has named the claim. Where the first
// k in rank are dead, the next one finds nothing and claims in two rounds.
func Formula(p Params) Bill {
	n, others := float64(p.Nodes), float64(p.Replicas-1)
	firstDead := float64(p.Dead) / float64(p.Dead+p.Replicas)
	b := Bill{Calls: map[kind]float64{
		commit: n, finish: n, lock: n * firstDead,
		look: firstDead + p.looks()*others,
	}}
	for k, calls := range b.Calls {
		b.Busy += time.Duration(calls / n * float64(p.due()) * float64(p.Cost.of(k)))
	}
	b.Commands = p.commands(b)
	b.Busy += time.Duration(b.Commands / n * float64(p.due()) * float64(p.Cost.Command))
	b.Last = p.last()
	return b
}

// looks is how often one of the others looks at a tick: once after the end of the
// run, a quorum of times while it goes on.
func (p Params) looks() float64 {
	looks := 0
	for rank := 1; rank < p.Replicas; rank++ {
		if p.looksAt(rank) < p.Run {
			looks += p.quorum()
		} else {
			looks++
		}
	}
	return float64(looks) / float64(max(p.Replicas-1, 1))
}

// commands counts what is sent for a tick. Calls of one kind that a replica has
// for a node at the same time share commands: the first goes at once, those that
// come while it is under way go together.
func (p Params) commands(b Bill) float64 {
	due, replicas := float64(p.due()), float64(p.Replicas)
	shared := func(calls, together float64) float64 {
		if calls == 0 || together == 0 {
			return 0
		}
		return calls / together * p.sent(together)
	}
	n, sum := float64(p.Nodes), 0.0
	for _, k := range []kind{commit, finish, lock} { // the ticks divide among the replicas
		sum += shared(b.Calls[k], due/replicas*b.Calls[k]/n)
	}
	apart := min(p.Together, p.Replicas) - 1 // ranks that look alone, at the ticks for which they have that rank
	most := p.Replicas - 1 - apart           // the others see nearly all ticks
	looks := b.Calls[look] / max(replicas-1, 1)
	// All looks of a replica at one instant go to one node, and then to the next.
	return sum + shared(looks*float64(apart), due/replicas) + shared(looks*float64(most), due*float64(most)/replicas)
}

// sent is how many commands carry the calls that a replica has for a node at one
// time, a number of them on average.
func (p Params) sent(mean float64) float64 {
	if mean > 50 {
		return 1 + math.Ceil((mean-1)/float64(p.MaxBatch))
	}
	sum, chance := 0.0, math.Exp(-mean) // Poisson: ranks fall by chance
	for n := 1; n < 200; n++ {
		chance *= mean / float64(n)
		sum += chance * (1 + math.Ceil(float64(n-1)/float64(p.MaxBatch)))
	}
	return sum
}

// last is when the last tick of an instant is claimed: after the nodes have
// served all commits and finishes, or the replicas have taken their turns,
// whichever takes longer.
func (p Params) last() time.Duration {
	served := time.Duration(p.due()) * (p.Cost.Commit + p.Cost.Finish)
	turns := math.Ceil(float64(p.due()) / float64(p.Replicas) / float64(p.MaxClaims))
	waited := time.Duration(turns) * p.RTT * 5 / 4
	last := max(served, waited)
	if p.Dead > 0 {
		last += p.worstDead() * p.Stagger
	}
	return last
}

// worstDead is how many dead replicas stand first in rank for the unluckiest
// tick of an instant.
func (p Params) worstDead() time.Duration {
	share := float64(p.Dead) / float64(p.Dead+p.Replicas)
	return time.Duration(math.Ceil(math.Log(float64(p.due())) / -math.Log(share)))
}

// Standing is the load of one node from what goes on without any tick, and from
// the extensions of runs, as a share of its processor.
func Standing(p Params) float64 {
	perSecond := func(every time.Duration) float64 { return 1 / every.Seconds() }
	load := float64(p.Replicas) * (perSecond(p.Beat)*(p.Cost.Beat+p.Cost.Command).Seconds() +
		perSecond(p.Commands)*(p.Cost.Commands+p.Cost.Command).Seconds())
	running := p.rate() * p.Run.Seconds()
	return load + running*perSecond(p.Extend)*p.Cost.Extend.Seconds()
}
