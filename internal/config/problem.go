package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(OneLine(p.Msg))
	return b.String()
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
	ps.unquote()
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(
			-cmp.Compare(min(a.Line, 1), min(b.Line, 1)), // places in the file first
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Path, b.Path),
		)
	})
	return &Error{Problems: ps.list}
}

// OneLine keeps an error of several lines from spilling over its line.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
