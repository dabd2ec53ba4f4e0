package main

import (
	"errors"
	"fmt"
	"time"
)

// Params describe a cluster and what it has to do.
type Params struct {
	Replicas int // that live
	Dead     int // that died, and still stand on the roster
	Jobs     int
	// Every is the pause between two ticks of a job, and Instants says at how many
	// instants of it jobs are due: 60 for hourly jobs that begin at any minute.
	Every    time.Duration
	Instants int
	Nodes    int

	Run     time.Duration // how long a run takes
	RTT     time.Duration // between a replica and a node: half of it to twice as much, by chance
	Stagger time.Duration // between the turns of two ranks
	// Together is the rank from which on all look at the same time, at its turn. A
	// look keeps nobody from anything, so only claims need turns of their own.
	Together int
	Window   time.Duration // of a tick
	Extend   time.Duration // between two extensions of a lease
	Beat     time.Duration // between two heartbeats of a replica
	Commands time.Duration // between two looks at what was asked of the cluster

	MaxClaims int // under way at once on a replica
	MaxBatch  int // calls in one command
	Cost      Cost
}

// A Cost is what a node's processor spends.
type Cost struct {
	Command                      time.Duration // whatever it holds
	Commit, Finish, Lock, Look   time.Duration // one call
	Void, Extend, Beat, Commands time.Duration
}

// measured is what redis-server 7.0 spent on the machine of docs/performance.md.
var measured = Cost{
	Command: 30 * time.Microsecond,
	Commit:  17 * time.Microsecond, Finish: 16 * time.Microsecond, Lock: 14 * time.Microsecond,
	Look: 8 * time.Microsecond, Void: 14 * time.Microsecond, Extend: 11 * time.Microsecond,
	Beat: 40 * time.Microsecond, Commands: 15 * time.Microsecond,
}

// typical is five nodes in one data centre.
var typical = Params{
	Replicas: 20, Jobs: 1000, Every: time.Minute, Instants: 1, Nodes: 5,
	RTT: 500 * time.Microsecond, Stagger: 20 * time.Millisecond, Together: 5, Window: 30 * time.Second,
	Extend: 5 * time.Second, Beat: 5 * time.Second, Commands: time.Second,
	MaxClaims: 128, MaxBatch: 64, Cost: measured,
}

// Validate refuses what cannot be simulated.
func (p Params) Validate() error {
	switch {
	case p.Replicas < 1 || p.Jobs < 1 || p.Dead < 0:
		return errors.New("replicas and jobs must be positive")
	case p.Nodes%2 == 0:
		return fmt.Errorf("%d nodes: list an odd number", p.Nodes)
	case p.Instants < 1 || p.Every <= 0 || p.Jobs < p.Instants:
		return errors.New("there must be a job for every instant")
	case p.MaxClaims < 1 || p.MaxBatch < 1 || p.Together < 1:
		return errors.New("max claims, max batch and together must be positive")
	}
	return nil
}

// quorum is how many nodes decide.
func (p Params) quorum() int { return p.Nodes/2 + 1 }

// turn is when the replica with a rank may claim a tick that nobody has.
func (p Params) turn(rank int) time.Duration {
	return min(time.Duration(rank)*p.Stagger, p.Window/2)
}

// looksAt is when it looks for the first time.
func (p Params) looksAt(rank int) time.Duration { return p.turn(min(rank, p.Together)) }

// due is how many ticks come at one instant.
func (p Params) due() int { return p.Jobs / p.Instants }

// rate is how many ticks come in a second.
func (p Params) rate() float64 { return float64(p.Jobs) / p.Every.Seconds() }
