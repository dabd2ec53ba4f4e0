// Package rows holds the measurements, one file each.
package rows

import (
	"context"
	"time"

	"github.com/quorate/quorate/benchmarks/pairs"
	"github.com/quorate/quorate/benchmarks/report"
	"github.com/quorate/quorate/benchmarks/rig"
)

// An Env is what a measurement works with.
type Env struct {
	Rig  *rig.Rig
	Size Size
	// Told hears how it goes on.
	Told func(format string, args ...any)
}

// A Measurement measures one thing and says what it found.
type Measurement struct {
	Key   string
	Title string
	Run   func(ctx context.Context, env Env) (report.Section, error)
}

// All returns the measurements in the order of the table.
func All() []Measurement {
	return []Measurement{
		{"claims", "Claims per second", claims},
		{"latency", "Latency of winning a tick", latency},
		{"blackhole", "One node black-holed", blackhole},
	}
}

// fresh makes the servers new, and declares them so.
func (e Env) fresh(ctx context.Context) error {
	if err := e.Rig.Reset(ctx); err != nil {
		return err
	}
	return e.Rig.Init(ctx)
}

// pairs runs the sides in turn, and tells what was measured.
func (e Env) pairs(ctx context.Context, unit report.Unit, sides ...pairs.Side) (pairs.Samples, error) {
	return pairs.Run(ctx, pairs.Plan{Rounds: e.Size.Rounds, Told: func(round int, side string, v float64) {
		if round == 0 {
			e.Told("warm-up    %-34s %s", side, unit.Format(v))
			return
		}
		e.Told("round %d/%d  %-34s %s", round, e.Size.Rounds, side, unit.Format(v))
	}}, sides...)
}

// A Size says how long to measure.
type Size struct {
	Rounds  int           // of pairs
	Span    time.Duration // of one measurement of a rate
	Workers int           // that claim at once
	Tries   int           // of one measurement of a latency
	Slow    bool          // also what takes seconds by itself
}

// Full is for figures.
func Full() Size {
	return Size{Rounds: 5, Span: time.Second, Workers: 256, Tries: 400, Slow: true}
}

// Tiny is for seeing that everything works.
func Tiny() Size {
	return Size{Rounds: 1, Span: 20 * time.Millisecond, Workers: 8, Tries: 3}
}
