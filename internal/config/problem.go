package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// A found is a mistake with the path of its value; nil: it concerns the whole.
type found struct {
	settings.Problem
	path path
}

// Wrong returns a *settings.Error with one mistake of the value at the path.
func (c *Config) Wrong(msg string, at ...string) error {
	ps := &problems{origin: c.origin}
	ps.at(at, "%s", msg)
	return ps.err()
}

// problems collects mistakes and finds out where they were made.
type problems struct {
	origin *origin
	list   []found
}

// at reports a mistake of the value at p.
func (ps *problems) at(p path, format string, args ...any) {
	ps.add(ps.origin.value(p), p, fmt.Sprintf(format, args...))
}

// atKey reports a mistake of the key that p ends in.
func (ps *problems) atKey(p path, format string, args ...any) {
	ps.add(ps.origin.key(p), p, fmt.Sprintf(format, args...))
}

// inside reports a mistake at the given byte of the text at p.
func (ps *problems) inside(p path, offset int, format string, args ...any) {
	ps.add(ps.origin.inside(p, offset), p, fmt.Sprintf(format, args...))
}

func (ps *problems) add(where position, p path, msg string) {
	ps.list = append(ps.list, found{settings.Problem{File: where.file, Line: where.line, Column: where.column, Path: p.String(), Msg: msg}, p})
}

// has reports whether a mistake of the value at p, of one in it or of one around
// it is known already, so that what follows from it need not be reported.
func (ps *problems) has(p path) bool {
	return slices.ContainsFunc(ps.list, func(known found) bool {
		return known.path != nil && (p.within(known.path) || known.path.within(p))
	})
}

// keep drops the problems that lie in none of the given paths. Those without a
// path concern the whole.
func (ps *problems) keep(within ...path) {
	ps.list = slices.DeleteFunc(ps.list, func(p found) bool {
		return p.path != nil && !slices.ContainsFunc(within, p.path.within)
	})
}

// err returns all problems in order as a *settings.Error, or nil.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	ps.hideValues()
	slices.SortStableFunc(ps.list, func(a, b found) int {
		return cmp.Or(
			-cmp.Compare(min(a.Line, 1), min(b.Line, 1)), // places in the file first
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Path, b.Path),
		)
	})
	return &settings.Error{Problems: ps.listed()}
}

func (ps *problems) listed() (all []settings.Problem) {
	for _, p := range ps.list {
		all = append(all, p.Problem)
	}
	return all
}

// Warnings lists settings that are allowed, but probably not intended: those of jobs by name,
// then those of http. A replica starts with them. If there are more than settings.MostShown, the last one
// counts the others.
func (c *Config) Warnings() []settings.Problem {
	ps := &problems{origin: c.origin}
	if len(c.Jobs) == 0 {
		ps.at(path{"jobs"}, "warning: the configuration has no jobs: nothing runs; write some under jobs")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		p := path{"jobs", name, "overlap"}
		if c.Defaults.Overlap == jobs.OverlapAllow {
			p = path{"defaults", "overlap"} // one warning for all jobs
		}
		if c.Jobs[name].Overlap == jobs.OverlapAllow && !ps.has(p) {
			ps.at(p, "warning: runs may overlap, and a guard refuses an older run once a newer one has written to the same resource; to exclude that, write queue or skip")
		}
	}
	c.warnHTTP(ps)
	ps.warnUnresolved(c)
	return ps.shown()
}

// shown returns the first warnings, and the number of the others.
func (ps *problems) shown() []settings.Problem {
	ps.hideValues()
	all := ps.listed()
	if more := len(all) - settings.MostShown; more > 0 {
		return append(all[:settings.MostShown:settings.MostShown], settings.Problem{Msg: fmt.Sprintf("and %d more warnings", more)})
	}
	return all
}

// Unresolved warns of references in webhooks and in params of jobs that cannot be resolved here:
// a message would not be sent, and a run would fail.
func (c *Config) Unresolved() []settings.Problem {
	ps := &problems{origin: c.origin}
	ps.warnUnresolved(c)
	return ps.shown()
}

func (ps *problems) warnUnresolved(c *Config) {
	check := func(p path, text string) {
		if _, err := refs.Resolve(text); err != nil {
			ps.at(p, "warning: %v", err)
		}
	}
	for i, hook := range c.Webhooks {
		p := path{"webhooks", strconv.Itoa(i)}
		check(p.with("url"), string(hook.URL))
		for _, name := range slices.Sorted(maps.Keys(hook.Headers)) {
			check(p.with("headers", name), string(hook.Headers[name]))
		}
		check(p.with("secret"), string(hook.Secret))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		for p, text := range decode.Texts(c.Jobs[name].Params, path{"jobs", name, "params"}) {
			check(p, text)
		}
	}
}
