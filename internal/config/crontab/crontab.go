// Package crontab turns a crontab into a config.yaml: one job of kind exec per line. What
// cannot be converted without another meaning is left out and named.
package crontab

import (
	"fmt"
	"maps"
	"strings"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Options say how to read a crontab.
type Options struct {
	// File names the crontab in messages.
	File string
	// System crontabs have a user between the schedule and the command.
	System bool
	// IsUser, if set, reports whether a word names a user. A crontab that is no system crontab
	// is refused if a command begins with one: it may be one after all.
	IsUser func(word string) bool
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
	r := &reader{opts: opts, env: map[string]string{"SHELL": "/bin/sh"}, names: map[string]int{}, users: map[string]bool{}}
	for line := range strings.Lines(text) {
		r.number++
		line, ended := strings.CutSuffix(line, "\n")
		if !ended {
			r.note("the line has no line break at its end: cron ignores it, and some ignore the whole file")
		}
		line, returns := strings.CutSuffix(line, "\r")
		if returns && !r.returns {
			r.note("lines end with a carriage return: cron passes it to the command, or refuses the line; here it is left out")
		}
		r.returns = r.returns || returns
		r.read(line)
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
	env     map[string]string
	zone    string   // of CRON_TZ; empty: that of the options
	returns bool     // lines end with a carriage return
	above   []string // the comment directly above the line
	loose   []string // comments since the last job that belong to none
	jobs    []job
	names   map[string]int
	users   map[string]bool
	notes   []config.Problem
	wrong   []config.Problem
	leftOut int
}

func (r *reader) read(line string) {
	trimmed := strings.TrimLeft(line, " \t")
	if at := strings.IndexAny(line, "\x00\uFFFD"); at >= 0 { // IndexAny takes bytes that are no UTF-8 for the latter
		r.refuse(at, "the line has a byte that is no UTF-8 text: remove or convert it")
		return
	}
	switch v, ok := readVariable(trimmed); {
	case trimmed == "":
		r.flush()
	case trimmed[0] == '#':
		r.above = append(r.above, strings.TrimSpace(strings.TrimLeft(trimmed, "#")))
	case ok && len(trimmed) > 998:
		r.refuse(0, "crons disagree on a variable whose line is longer than 998 bytes: Debian's cuts it off there; write a shorter one")
	case ok:
		r.flush()
		r.set(v, strings.LastIndex(line, v.value))
	default:
		r.job(&cursor{line: line})
	}
}

// flush gives up the hope that a job follows the comment.
func (r *reader) flush() {
	r.loose = append(r.loose, r.above...)
	r.above = nil
}

// set takes a variable, whose value begins at the given byte of the line.
func (r *reader) set(v variable, at int) {
	switch debian := v.debian(); {
	case debian != v.value:
		r.refuse(at, "crons disagree on %s: to Debian's it is %q, to cronie %q; write it in another way", v.name, debian, v.value)
	case v.name == "" || strings.Contains(v.name, "="):
		r.refuse(at, "%q is no name of a variable that a command could use: write another", v.name)
	case (v.name == "SHELL" || v.name == "HOME") && !strings.HasPrefix(v.value, "/"):
		r.refuse(at, "%s is %q: write an absolute path", v.name, v.value)
	case v.name == "CRON_TZ":
		r.timezone(v.value, at)
	case v.name == "MAILTO" && v.value == "":
	case v.name == "MAILTO" || v.name == "MAILFROM":
		r.note("%s: Quorate sends no mail. Read output with quorate logs, and have a webhook report the event failed", v.name)
	case v.name == "RANDOM_DELAY":
		r.note("RANDOM_DELAY: write jitter under defaults, shorter than the pause between two ticks")
	case v.name == "LOGNAME" || v.name == "USER":
		r.note("%s is dropped: commands run as the user of the replica, and some crons drop it, too", v.name)
		return
	case strings.HasPrefix(v.name, "QUORATE_"):
		r.note("%s is dropped: Quorate sets such names itself; choose another", v.name)
		return
	}
	if v.value == "" && !v.quoted {
		r.note(`%s has no value: Debian's cron cannot read the line; to cronie, as here, it is %s=""`, v.name, v.name)
	}
	r.env = maps.Clone(r.env)
	r.env[v.name] = refs.Escape(v.value) // the configuration resolves references
}

// timezone begins or ends what CRON_TZ covers.
func (r *reader) timezone(zone string, at int) {
	r.zone = zone
	if zone == "" {
		r.note("CRON_TZ ends: to cronie, as here, lines below are in %s again; Debian's and Ubuntu's cron never left it", r.opts.Timezone)
		return
	}
	if _, err := schedule.LoadZone(zone); err != nil {
		r.refuse(at, "CRON_TZ: %v", err)
	}
	r.note("CRON_TZ: to cronie, as here, lines below are in %s; Debian's and Ubuntu's cron ignore it, and run them in %s: if yours is one of these, remove the line and import again", zone, r.opts.Timezone)
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
