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
	if len(c.Jobs) == 0 {
		ps.at(path{"jobs"}, "warning: the configuration has no jobs: nothing runs; write some under jobs")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		p := path{"jobs", name, "overlap"}
		if c.Defaults.Overlap == scheduler.OverlapAllow {
			p = path{"defaults", "overlap"} // one warning for all jobs
		}
		if c.Jobs[name].Overlap == scheduler.OverlapAllow && !ps.has(p) {
			ps.at(p, "warning: runs may overlap, and a guard refuses an older run once a newer one has written to the same resource; to exclude that, write queue or skip")
		}
	}
	c.HTTP.warn(ps)
	return ps.list
}
