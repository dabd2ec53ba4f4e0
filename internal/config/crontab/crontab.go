// Package crontab turns a crontab into a config.yaml: one job of kind exec per line. What
// cannot be converted without another meaning is left out and named.
package crontab

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/replica/settings"
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
	Notes []settings.Problem
	// Jobs and LeftOut count the lines that are in the configuration, and those that are not.
	Jobs, LeftOut int
}

// Import converts the text of a crontab. The error is a *settings.Error with every line that
// cron or Quorate cannot read.
func Import(text string, opts Options) (Result, error) {
	r := &reader{opts: opts, env: map[string]string{"SHELL": "/bin/sh"}, names: map[string]bool{}, users: map[string]bool{}}
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
		return Result{}, &settings.Error{Problems: r.wrong}
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
	names   map[string]bool
	users   map[string]bool
	notes   []settings.Problem
	wrong   []settings.Problem
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

func (r *reader) problem(at int, format string, args ...any) settings.Problem {
	return settings.Problem{File: r.opts.File, Line: r.number, Column: at + 1, Msg: fmt.Sprintf(format, args...)}
}

// note says something about a line that is converted, but for the part that the note names.
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
func (c *cursor) word() (word string, at int) {
	word, at = c.rest()
	if end := strings.IndexAny(word, " \t"); end >= 0 {
		word = word[:end]
	}
	c.pos = at + len(word)
	return word, at
}

// rest returns what follows, and the byte at which it begins.
func (c *cursor) rest() (rest string, at int) {
	rest = strings.TrimLeft(c.line[c.pos:], " \t")
	c.pos = len(c.line) - len(rest)
	return rest, c.pos
}

// A job is as config.yaml has it.
type job struct {
	Name        string            `yaml:"-"`
	Comments    []string          `yaml:"-"` // that stood above it, and belong to no job
	Description string            `yaml:"description,omitempty"`
	Func        string            `yaml:"func"`
	Schedule    string            `yaml:"schedule"`
	Timezone    string            `yaml:"timezone,omitempty"`
	DST         map[string]string `yaml:"dst,omitempty,flow"`
	Labels      map[string]string `yaml:"labels,omitempty,flow"`
	Params      params            `yaml:"params"`
}

type params struct {
	Command []string          `yaml:"command"`
	Env     map[string]string `yaml:"env,omitempty,flow"`
	Dir     string            `yaml:"dir,omitempty"`
}

var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\$?$`)

// job reads a line with a schedule and a command.
func (r *reader) job(c *cursor) {
	w := c.when()
	if strings.Contains(w.words[0], "=") {
		r.refuse(w.at[0], "the line is no schedule, and no variable: that has quotes around all of its value, or none")
		return
	}
	reboot := w.words[0] == "@reboot"
	if !reboot && !w.read(r) {
		return
	}
	var user string
	if r.opts.System {
		var at int
		if user, at = c.word(); !userName.MatchString(user) {
			r.refuse(at, "%q is no user name: a system crontab has the user between schedule and command; without one, import it without --system", user)
			return
		}
	}
	text, at := c.rest()
	command, input, pair := splitInput(text)
	switch {
	case strings.TrimSpace(command) == "":
		r.refuse(at, "the line has no command: write one after the schedule%s", map[bool]string{true: " and the user"}[r.opts.System])
	case !r.opts.System && command[0] == '*':
		r.refuse(at, "some crons read no command that begins with *: are there six fields?")
	case !r.opts.System && r.startsWithUser(text):
		r.refuse(at, "%s is a user: if the crontab names one in each line, import it with --system; if it is the command, with --system=false", strings.Fields(text)[0])
	case pair:
		r.refuse(at, `crons disagree on \\ in a command: to Debian's it is one backslash, to cronie two; put the command into a script`)
	case reboot:
		r.leave(0, "@reboot has no tick: start the command when the machine or container starts, such as by a systemd unit")
	case w.needsBothDays():
		r.leave(w.at[dayOfMonth], "cron wants both day fields to match, because one begins with *; Quorate takes either: "+
			"write one of them as *, and test the other in the command")
	case w.parse(r):
		r.add(w, user, command, input)
	}
}

// startsWithUser reports whether the first word of a line after its schedule is a user, and not a
// command with options.
func (r *reader) startsWithUser(text string) bool {
	words := strings.Fields(text)
	return r.opts.IsUser != nil && len(words) > 1 && userName.MatchString(words[0]) && words[1][0] != '-' && r.opts.IsUser(words[0])
}

// add converts a line.
func (r *reader) add(w when, user, command, input string) {
	shell := r.env["SHELL"]
	j := job{
		Name: r.unique(jobName(command)), Comments: r.loose, Description: refs.Escape(strings.TrimSpace(strings.Join(r.above, "\n"))),
		Func: "exec", Schedule: w.spec(), Timezone: r.zone, Params: params{Env: r.env, Dir: r.env["HOME"]},
	}
	r.loose, r.above = nil, nil
	command, input = refs.Escape(command), refs.Escape(input) // the configuration resolves references
	j.Params.Command = []string{shell, "-c", command}
	if input != "" {
		j.Params.Command = []string{"/bin/sh", "-c", `printf %s "$2" | "$0" -c "$1"`, shell, command, input}
	}
	if zone := r.zone; zone != "UTC" && (zone != "" || r.opts.Timezone != "UTC") {
		if w.followsClock() {
			j.DST = map[string]string{"gap": "skip", "overlap": "both"}
		}
		if w.keepsHours() {
			r.note("%s: when clocks change, cron treats hours 0-23 as if they were not *; Quorate follows the clock", j.Name)
		}
	}
	if user != "" {
		j.Labels = map[string]string{"user": user}
		if !r.users[user] {
			r.note("jobs of user %s get the label user: start replicas as %s, with replica: {labels: {user: %s}}", user, user, user)
		}
		r.users[user] = true
	}
	r.jobs = append(r.jobs, j)
}

// Parts of a command: what comes before the first % that no backslash escapes, and a backslash
// that escapes another one.
var (
	commandPart = regexp.MustCompile(`^(?:[^\\%]|\\.|\\$)*`)
	withPair    = regexp.MustCompile(`^(?:[^\\]|\\[^\\])*\\\\`)
)

// splitInput separates the command from its standard input, and reports whether a backslash of
// the command escapes another one.
func splitInput(text string) (command, input string, pair bool) {
	command = commandPart.FindString(text)
	input = strings.TrimPrefix(text[len(command):], "%")
	return strings.ReplaceAll(command, `\%`, "%"), inputOf(input), withPair.MatchString(command)
}

// inputOf makes line breaks of each % that no backslash escapes, and ends the last line, as cron
// does.
func inputOf(text string) string {
	input := strings.ReplaceAll(text, `\%`, "\x00")
	input = strings.ReplaceAll(input, "%", "\n")
	if unended := strings.TrimSuffix(input, `\`); unended != "" && !strings.HasSuffix(unended, "\n") {
		input += "\n"
	}
	return strings.ReplaceAll(input, "\x00", "%")
}

// Programs in a command, the first group being their names. The first of those with a path
// is the name of the job, unless others usually stand before what matters.
var (
	program = regexp.MustCompile(`(?:^|[\s;&|({=])/(?:[^\s;&|/]+/)*([A-Za-z0-9][A-Za-z0-9._-]*)`)
	aWord   = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9._-]*`)
	helpers = regexp.MustCompile(`^(sh|bash|test|null|env|nice|flock|system|sudo)$`)
)

// jobName suggests a name for the job with the command.
func jobName(command string) string {
	name := cmp.Or(aWord.FindString(command), "job")
	programs := program.FindAllStringSubmatch(command, -1)
	if i := slices.IndexFunc(programs, func(m []string) bool { return !helpers.MatchString(m[1]) }); i >= 0 {
		name = programs[i][1]
	}
	return name[:min(len(name), 90)]
}

// unique adds a number to a name that is taken.
func (r *reader) unique(name string) string {
	for base, n := name, 2; r.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	r.names[name] = true
	return name
}

// A variable is what a line sets.
type variable struct {
	name, value string
	quoted      bool // the value was
}

// blank are the bytes that separate a name, = and a value: those of C's isspace.
const blank = " \t\r\v\f"

// readVariable reads a line as load_env of cron does: a name is anything without blanks and =, or
// anything else in quotes. It returns false for a line that sets none, which cron takes for a
// schedule.
func readVariable(line string) (v variable, ok bool) {
	name, rest, ended := cutQuoted(line)
	if !quoted(line) {
		end := strings.IndexAny(line, blank+"=")
		if ended = end >= 0; ended {
			name, rest = line[:end], line[end:]
		}
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, blank), "=")
	if !ok || !ended || quoted(line) && strings.Contains(name, "=") {
		return v, false
	}
	rest = strings.TrimLeft(rest, blank)
	if quoted(rest) {
		value, after, ended := cutQuoted(rest)
		return variable{name, value, true}, ended && strings.Trim(after, blank) == ""
	}
	return variable{name, strings.TrimRight(rest, blank), false}, true
}

// debian is the value as Debian's cron reads it: it takes off blanks and quotes within the quotes.
func (v variable) debian() string {
	value := strings.TrimRight(v.value, blank)
	if quoted(value) && len(value) > 1 && value[len(value)-1] == value[0] {
		return value[1 : len(value)-1]
	}
	return value
}

func quoted(text string) bool { return text != "" && (text[0] == '"' || text[0] == '\'') }

// cutQuoted returns the text in quotes at the beginning of text, and the text after it; false if the
// quotes do not end, or there are none.
func cutQuoted(text string) (inside, after string, ended bool) {
	if !quoted(text) {
		return "", text, false
	}
	return strings.Cut(text[1:], text[:1])
}
