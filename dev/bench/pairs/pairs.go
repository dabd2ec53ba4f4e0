// Package pairs measures things side by side: in turn, over and over, so that
// whatever else the machine does meets all of them alike.
package pairs

import (
	"context"
	"fmt"
	"runtime"
)

// A Side is one of the things compared.
type Side struct {
	Name string
	// Measure measures once and returns a number, in the same unit as the
	// other sides.
	Measure func(ctx context.Context) (float64, error)
}

// A Plan says how often to measure.
type Plan struct {
	// Rounds counts the measurements of each side. At least 1.
	Rounds int
	// Cold leaves out the warm-up.
	Cold bool
	// Told, if set, hears of every measurement. Those of the warm-up have the
	// round 0.
	Told func(round int, side string, value float64)
}

// Run measures each side once without counting it, unless the plan is Cold, and
// then all sides in turn, Rounds times, with the garbage of one collected before
// the next begins.
func Run(ctx context.Context, plan Plan, sides ...Side) (Samples, error) {
	samples := Samples{}
	for round := range plan.Rounds + 1 {
		if round == 0 && plan.Cold {
			continue
		}
		for _, side := range sides {
			runtime.GC()
			value, err := side.Measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("measuring %s: %w", side.Name, err)
			}
			if round > 0 {
				samples[side.Name] = append(samples[side.Name], value)
			}
			if plan.Told != nil {
				plan.Told(round, side.Name, value)
			}
		}
	}
	return samples, nil
}
