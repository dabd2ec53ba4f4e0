package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/scheduler"
)

// Warnings lists what is allowed, but may not be what is meant: of jobs in the order
// of their names, then of what is served. Unlike mistakes they keep nothing from starting. Of
// more than maxShown the last one counts the others.
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
	ps.warnUnresolved(c)
	return ps.shown()
}

// shown returns the first maxShown warnings, and the number of the others.
func (ps *problems) shown() []Problem {
	ps.unquote()
	if more := len(ps.list) - maxShown; more > 0 {
		return append(ps.list[:maxShown:maxShown], Problem{Msg: fmt.Sprintf("and %d more warnings", more)})
	}
	return ps.list
}

// Unresolved warns of references in webhooks and in params of jobs that cannot be resolved here:
// a message would not be sent, and a run would fail.
func (c *Config) Unresolved() []Problem {
	ps := &problems{origin: c.origin}
	ps.warnUnresolved(c)
	return ps.shown()
}

func (ps *problems) warnUnresolved(c *Config) {
	check := func(p path, text string) {
		if _, err := Expand(text); err != nil {
			ps.at(p, "warning: %v", err)
		}
	}
	for i, hook := range c.Webhooks {
		p := path{"webhooks", strconv.Itoa(i)}
		check(p.with("url"), hook.URL)
		for _, name := range slices.Sorted(maps.Keys(hook.Headers)) {
			check(p.with("headers", name), hook.Headers[name])
		}
		check(p.with("secret"), hook.Secret)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		_, _ = decode.Map(c.Jobs[name].Params, path{"jobs", name, "params"}, func(v any, p []string) (any, error) { // no leaf fails
			if text, ok := v.(string); ok {
				check(p, text)
			}
			return v, nil
		})
	}
}
