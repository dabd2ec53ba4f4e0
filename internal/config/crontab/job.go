package crontab

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/quorate/quorate/internal/refs"
)

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
	for _, m := range program.FindAllStringSubmatch(command, -1) {
		if !helpers.MatchString(m[1]) {
			return m[1][:min(len(m[1]), 90)]
		}
	}
	name := aWord.FindString(command)
	if name == "" {
		return "job"
	}
	return name[:min(len(name), 90)]
}

// unique adds a number to a name that is taken.
func (r *reader) unique(name string) string {
	for base, n := name, 2; r.names[name] > 0; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	r.names[name]++
	return name
}
