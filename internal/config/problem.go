package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
)

// A Problem is one mistake in the configuration.
type Problem struct {
	// File that holds the mistake, or the environment variable or --set that
	// does; empty for a Config made in code.
	File string
	// Line and Column count from 1; zero if there is no such place.
	Line, Column int
	// Path of the value, such as jobs.report.timeout.
	Path string
	// Msg says what is wrong, and after a semicolon what to write instead.
	Msg string

	path path
}

// String writes the problem in one line: file:line:column: path: message.
func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	parts := []string{place, p.Path, oneLine(p.Msg)}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// An Error holds every mistake of a configuration, in the order of the
// file; those of environment variables and --set come last.
type Error struct{ Problems []Problem }

// maxShown is how many mistakes are shown; the others are counted.
const maxShown = 20

// Error returns one line per problem, of the first maxShown.
func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems[:min(len(e.Problems), maxShown)] {
		lines = append(lines, p.String())
	}
	if more := len(e.Problems) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more mistakes: mend these, and check again", more))
	}
	return strings.Join(lines, "\n")
}

// Wrong returns an *Error with one mistake of the value at the path.
func (c *Config) Wrong(msg string, at ...string) error {
	ps := &problems{origin: c.origin}
	ps.at(at, "%s", msg)
	return ps.err()
}

// problems collects mistakes and finds out where they were made.
type problems struct {
	origin *origin
	list   []Problem
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
	ps.list = append(ps.list, Problem{File: where.file, Line: where.line, Column: where.column, Path: p.String(), Msg: msg, path: p})
}

// has reports whether a mistake of the value at p, of one in it or of one around
// it is known already, so that what follows from it need not be reported.
func (ps *problems) has(p path) bool {
	return slices.ContainsFunc(ps.list, func(known Problem) bool {
		return known.path != nil && (p.within(known.path) || known.path.within(p))
	})
}

// keep drops the problems that lie in none of the given paths. Those without a
// path concern the whole.
func (ps *problems) keep(within ...path) {
	ps.list = slices.DeleteFunc(ps.list, func(p Problem) bool {
		return p.path != nil && !slices.ContainsFunc(within, p.path.within)
	})
}

// err returns all problems in order as a *Error, or nil.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	ps.hideValues()
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(
			-cmp.Compare(min(a.Line, 1), min(b.Line, 1)), // places in the file first
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Path, b.Path),
		)
	})
	return &Error{Problems: ps.list}
}

// oneLine keeps an error of several lines from spilling over its line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// Warnings lists settings that are allowed, but probably not intended: those of jobs by name,
// then those of http. A replica starts with them. If there are more than maxShown, the last one
// counts the others.
func (c *Config) Warnings() []Problem {
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

// shown returns the first maxShown warnings, and the number of the others.
func (ps *problems) shown() []Problem {
	ps.hideValues()
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
