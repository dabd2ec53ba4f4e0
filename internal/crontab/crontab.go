// Package crontab turns a crontab into a config.yaml: one job of kind exec per line. What
// cannot be converted without another meaning is left out and named.
package crontab

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Options say how to read a crontab.
type Options struct {
	// File names the crontab in messages.
	File string
	// System crontabs have a user between the schedule and the command.
	System bool
	// Timezone is the zone of the machine that cron ran on.
	Timezone string
}

// A Result is a converted crontab.
type Result struct {
	// YAML is the configuration.
	YAML []byte
	// Notes say what the configuration lacks, and what to do.
	Notes []config.Problem
	// Jobs and LeftOut count the lines that are in the configuration, and those that are not.
	Jobs, LeftOut int
}

// Import converts the text of a crontab. The error is a *config.Error with every line that
// cron or Quorate cannot read.
func Import(text string, opts Options) (Result, error) {
	r := &reader{opts: opts, shell: "/bin/sh", names: map[string]int{}, users: map[string]bool{}}
	for i, line := range strings.Split(text, "\n") {
		r.number = i + 1
		r.read(strings.TrimSuffix(line, "\r"))
	}
	r.flush()
	if len(r.wrong) > 0 {
		return Result{}, &config.Error{Problems: r.wrong}
	}
	out, err := render(r)
	return Result{YAML: out, Notes: r.notes, Jobs: len(r.jobs), LeftOut: r.leftOut}, err
}

// A reader reads line after line. A variable holds for the lines below it.
type reader struct {
	opts    Options
	number  int // of the line
	shell   string
	zone    string // of CRON_TZ; empty: that of the options
	env     []variable
	above   []string // the comment directly above the line
	loose   []string // comments since the last job that belong to none
	jobs    []job
	names   map[string]int
	users   map[string]bool
	notes   []config.Problem
	wrong   []config.Problem
	leftOut int
}

type variable struct{ name, value string }

// assignment matches a line that sets a variable.
var assignment = regexp.MustCompile(`^[ \t]*(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))[ \t]*=[ \t]*(.*?)[ \t]*$`)

func (r *reader) read(line string) {
	trimmed := strings.TrimLeft(line, " \t")
	switch m := assignment.FindStringSubmatch(line); {
	case strings.ContainsAny(line, "\x00\uFFFD"): // ContainsAny takes bytes that are no UTF-8 for the latter
		r.refuse(strings.IndexAny(line, "\x00\uFFFD"), "the line has a byte that is no UTF-8 text: remove or convert it")
	case trimmed == "":
		r.flush()
	case trimmed[0] == '#':
		r.above = append(r.above, strings.TrimSpace(strings.TrimLeft(trimmed, "#")))
	case m != nil:
		r.flush()
		r.set(m[1]+m[2]+m[3], m[4], strings.LastIndex(line, m[4]))
	default:
		r.job(&cursor{line: line})
	}
}

// flush gives up the hope that a job follows the comment.
func (r *reader) flush() {
	r.loose = append(r.loose, r.above...)
	r.above = nil
}

// set reads a variable, whose value begins at the given byte of the line.
func (r *reader) set(name, value string, at int) {
	if n := len(value); n > 0 && strings.ContainsAny(value[:1], `"'`) {
		if n < 2 || value[n-1] != value[0] {
			r.refuse(at, "%s has a value without its closing quote: write it", name)
			return
		}
		value = value[1 : n-1]
	}
	switch {
	case name == "SHELL":
		r.shell = value
	case name == "CRON_TZ":
		if _, err := schedule.LoadZone(value); err != nil {
			r.refuse(at, "CRON_TZ: %v", err)
		}
		r.zone = value
	case name == "MAILTO" && value == "":
	case name == "MAILTO" || name == "MAILFROM":
		r.note("%s: Quorate sends no mail. Read output with quorate logs, and have a webhook report the event failed", name)
	case strings.HasPrefix(name, "CONTENT_"): // of mails
	case name == "RANDOM_DELAY":
		r.note("RANDOM_DELAY: write jitter under defaults, shorter than the pause between two ticks")
	case name == "LOGNAME" || name == "USER":
		r.note("%s is dropped, as cron does: commands run as the user of the replica", name)
	case strings.HasPrefix(name, "QUORATE_"):
		r.note("%s is dropped: Quorate sets such names itself; choose another", name)
	default:
		r.env = append(r.env, variable{name, value})
	}
}

func (r *reader) problem(at int, format string, args ...any) config.Problem {
	return config.Problem{File: r.opts.File, Line: r.number, Column: at + 1, Msg: fmt.Sprintf(format, args...)}
}

// note says something about the line, of which nothing is lost but what it names.
func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, r.problem(0, format, args...))
}

// leave notes that the job of the line is left out.
func (r *reader) leave(at int, format string, args ...any) {
	r.leftOut++
	r.flush()
	r.notes = append(r.notes, r.problem(at, "left out: "+format, args...))
}

func (r *reader) refuse(at int, format string, args ...any) {
	r.wrong = append(r.wrong, r.problem(at, format, args...))
}

// A cursor reads the words of a line.
type cursor struct {
	line string
	pos  int
}

// word returns the next word and the byte at which it begins.
func (c *cursor) word() (string, int) {
	c.skip()
	at := c.pos
	for c.pos < len(c.line) && c.line[c.pos] != ' ' && c.line[c.pos] != '\t' {
		c.pos++
	}
	return c.line[at:c.pos], at
}

func (c *cursor) skip() {
	for c.pos < len(c.line) && (c.line[c.pos] == ' ' || c.line[c.pos] == '\t') {
		c.pos++
	}
}

// rest returns what follows, and the byte at which it begins.
func (c *cursor) rest() (string, int) {
	c.skip()
	return c.line[c.pos:], c.pos
}
