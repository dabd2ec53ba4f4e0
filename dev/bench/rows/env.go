// Package rows holds the measurements, one file each.
package rows

import (
	"context"
	"time"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

// An Env is what a measurement works with.
type Env struct {
	Rig  *rig.Rig
	Size Size
	// Busy tells that another process keeps a core busy.
	Busy bool
	// Told hears how it goes on.
	Told func(format string, args ...any)
}

// A Measurement measures one thing and says what it found.
type Measurement struct {
	Key   string
	Title string
	// Busy: it measures once more while another process keeps a core busy.
	Busy    bool
	measure func(ctx context.Context, env Env) (report.Section, error)
}

// Run measures. Each result is followed by the one beside a busy core, if both are wanted.
func (m Measurement) Run(ctx context.Context, env Env) (report.Section, error) {
	s, err := m.measure(ctx, env)
	if err != nil || !m.Busy || !env.Size.Slow {
		return s, err
	}
	env.Told("%s, beside a busy core", m.Title)
	stop, err := rig.KeepCoreBusy(ctx)
	if err != nil {
		return s, err
	}
	defer stop()
	env.Busy = true
	busy, err := m.measure(ctx, env)
	var all []report.Result
	for i, r := range busy.Results {
		r.What, r.Headline = r.What+", beside a busy core", ""
		all = append(all, s.Results[i], r)
	}
	s.Results = all
	return s, err
}

// All returns the measurements in the order of the table.
func All() []Measurement {
	return []Measurement{
		{"latency", "Latency of winning", true, latency},
		{"claims", "Claims per second", true, claims},
		{"commands", "Redis commands per tick", true, commands},
		{"burst", "Many jobs due at once", true, burst},
		{"delay", "Delay and fairness", true, delay},
		{"contention", "Ticks without a winner", true, contention},
		{"virtual", "Ticks without a winner, in virtual time", false, virtual},
		{"blackhole", "One node black-holed", false, blackhole},
		{"single", "Ticks on one Redis", false, onSingle},
		{"postgres", "Ticks on one PostgreSQL", false, onPostgres},
		{"postgres-team", "Many replicas, and many jobs, on one PostgreSQL", false, onPostgresTeam},
		{"idle", "Memory per idle job", false, idle},
	}
}

// fresh makes the servers new, and declares them so.
func (e Env) fresh(ctx context.Context) error {
	if err := e.Rig.Reset(ctx); err != nil {
		return err
	}
	return e.Rig.Init(ctx)
}

// pairs runs the sides in turn, after a warm-up, and tells what was measured.
func (e Env) pairs(ctx context.Context, unit report.Unit, sides ...pairs.Side) (pairs.Samples, error) {
	return pairs.Run(ctx, e.plan(unit), sides...)
}

func (e Env) plan(unit report.Unit) pairs.Plan {
	return pairs.Plan{Rounds: e.Size.Rounds, Told: func(round int, side string, v float64) {
		if round == 0 {
			e.Told("warm-up    %-34s %s", side, unit.Format(v))
			return
		}
		e.Told("round %d/%d  %-34s %s", round, e.Size.Rounds, side, unit.Format(v))
	}}
}

// A Size says how long to measure.
type Size struct {
	Rounds  int           // of pairs
	Span    time.Duration // of one measurement of a rate
	Workers int           // that claim at once
	Tries   int           // of one measurement of a latency
	Slow    bool          // also what takes seconds by itself

	Replicas []int         // for which commands are counted
	Settling time.Duration // until replicas know of each other
	Counting time.Duration // of commands, each time: whole heartbeats

	Crowd        int // replicas that compete
	CrowdJobs    int // with ticks at one instant
	CrowdSeconds int
	PeerTicks    int // for which redsync competes
	HandJobs     int // that people lock by hand
	HandSeconds  int

	DelayJobs    int // with ticks one after the other, within each second
	DelaySeconds int // each time

	Burst int           // jobs due at one instant
	Ahead time.Duration // how long before they are known

	IdleJobs int

	// Less than a busy machine carries, so that the costs of one operation
	// compare between commits.
	ProfileWorkers int
}

// Full is for figures.
func Full() Size {
	return Size{
		Rounds: 5, Span: time.Second, Workers: 256, Tries: 400, Slow: true,
		Replicas: []int{2, 5, 20, 50}, Settling: 6 * time.Second, Counting: beats,
		Crowd: 20, CrowdJobs: 50, CrowdSeconds: 40, PeerTicks: 500, HandJobs: 20, HandSeconds: 10,
		DelayJobs: 25, DelaySeconds: 8,
		Burst: 10_000, Ahead: 3 * time.Second,
		IdleJobs:       100_000,
		ProfileWorkers: 16,
	}
}

// Tiny is for seeing that everything works.
func Tiny() Size {
	return Size{
		Rounds: 1, Span: 20 * time.Millisecond, Workers: 8, Tries: 3,
		Replicas: []int{2}, Counting: time.Second,
		Crowd: 3, CrowdJobs: 2, CrowdSeconds: 1, PeerTicks: 2, HandJobs: 1, HandSeconds: 1,
		DelayJobs: 5, DelaySeconds: 1,
		Burst: 20, Ahead: time.Second,
		IdleJobs:       100,
		ProfileWorkers: 2,
	}
}
