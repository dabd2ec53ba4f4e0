package config

import (
	"maps"
	"slices"

	"github.com/quorate/quorate/scheduler"
)

// Warnings lists what is allowed, but may not be what is meant: of jobs in the order
// of their names, then of what is served. Unlike mistakes they keep nothing from starting.
func (c *Config) Warnings() []Problem {
	ps := &problems{origin: c.origin}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		p := path{"jobs", name, "overlap"}
		if c.Jobs[name].Overlap == scheduler.OverlapAllow {
			ps.at(p, "warning: runs go on beside one another, and where they write through a guard to one resource, it refuses the older run once the newer has written; if that is not meant, write queue or skip")
		}
	}
	c.HTTP.warn(ps)
	return ps.list
}
