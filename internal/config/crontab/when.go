package crontab

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/scheduler/schedule"
)

// A when is the schedule of a line, as cron reads it.
type when struct {
	words  []string  // five, or one that begins with @
	at     []int     // where they begin
	values [5]uint64 // of the fields: bit n is the value n; Sunday is 0
}

func (c *cursor) when() when {
	var w when
	for n := 5; len(w.words) < n; {
		word, at := c.word()
		if w.words, w.at = append(w.words, word), append(w.at, at); strings.HasPrefix(word, "@") {
			n = 1
		}
	}
	return w
}

// The fields, in the order of a line.
const (
	minute = iota
	hour
	dayOfMonth
	month
	dayOfWeek
)

var (
	nickname = regexp.MustCompile(`^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$`)
	entry    = regexp.MustCompile(`^(?:\*|(\d{1,9}|[A-Za-z]{3})(?:-(\d{1,9}|[A-Za-z]{3}))?)(?:/(\d{1,9}))?$`)
)

// fields are the limits of their values, and the names that these have from the first on.
var fields = [5]struct {
	name     string
	min, max int
	names    string
}{
	{"minute", 0, 59, ""},
	{"hour", 0, 23, ""},
	{"day-of-month", 1, 31, ""},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"day-of-week", 0, 7, "sunmontuewedthufrisat"},
}

// read refuses what some cron cannot read, or crons read in different ways.
func (w *when) read(r *reader) bool {
	if len(w.words) == 1 {
		if !nickname.MatchString(w.words[0]) {
			r.refuse(w.at[0], "cron knows no %s: write @yearly, @monthly, @weekly, @daily or @hourly, or five fields", w.words[0])
			return false
		}
		return true
	}
	wrong := len(r.wrong)
	for i, word := range w.words {
		if word == "" {
			r.refuse(w.at[i], "the line ends after %d of 5 fields: write minute, hour, day of month, month, day of week and a command", i)
			return false
		}
		for e := range strings.SplitSeq(word, ",") {
			values, problem := valuesOf(e, i)
			if w.values[i] |= values; problem != "" {
				r.refuse(w.at[i], "%s", problem)
			}
		}
	}
	if w.values[dayOfWeek]&(1<<7) != 0 { // Sunday
		w.values[dayOfWeek] = w.values[dayOfWeek]&^(1<<7) | 1
	}
	return len(r.wrong) == wrong
}

// valuesOf reads an entry of the list in a field, or returns what is wrong with it.
func valuesOf(e string, field int) (values uint64, problem string) {
	m, limits := entry.FindStringSubmatch(e), fields[field]
	switch {
	case m == nil:
		return 0, fmt.Sprintf("not every cron reads %q: write a number, a name, a range a-b, a-b/n, * or */n", e)
	case m[1] != "" && m[2] == "" && m[3] != "":
		return 0, fmt.Sprintf("crons disagree on %q: write a range with the step, or the number alone", e)
	}
	first, last, step := limits.min, limits.max, 1
	err := errors.Join(read(m[1], limits.names, limits.min, &first), read(m[2], limits.names, limits.min, &last), read(m[3], "", 0, &step))
	if m[1] != "" && m[2] == "" {
		last = first
	}
	if err != nil || first < limits.min || last < limits.min || first > limits.max || last > limits.max || step == 0 {
		return 0, fmt.Sprintf("has a bad %s field %q: write values from %d to %d, and steps from 1", limits.name, e, limits.min, limits.max)
	}
	if first > last {
		return 0, fmt.Sprintf("not every cron reads %q: the range runs backwards; write two ranges with a comma", e)
	}
	for v := first; v <= last; v += step {
		values |= 1 << v
	}
	return values, ""
}

// read reads a number, or one of the names that stand for those from least on. It leaves number
// alone where there is no text.
func read(text, names string, least int, number *int) (err error) {
	i := strings.Index(names, strings.ToLower(text))
	switch {
	case text == "":
	case i >= 0 && i%3 == 0:
		*number = least + i/3
	default:
		*number, err = strconv.Atoi(text)
	}
	return err
}

// all reports whether a field has all its values.
func (w when) all(field int) bool {
	limits := fields[field]
	if field == dayOfWeek {
		limits.max = 6
	}
	return w.values[field] == 1<<(limits.max+1)-1<<limits.min
}

// star reports whether a field begins with a star: to cron it is not restricted then, whatever
// follows.
func (w when) star(field int) bool { return len(w.words) > 1 && w.words[field][0] == '*' }

// needsBothDays reports whether cron wants both day fields to match, and both are restricted:
// Quorate takes either.
func (w when) needsBothDays() bool {
	return (w.star(dayOfMonth) || w.star(dayOfWeek)) && !w.all(dayOfMonth) && !w.all(dayOfWeek)
}

// spec writes the schedule for Quorate: as it is, but where that would refuse it, or read it in
// another way.
func (w when) spec() string {
	if len(w.words) == 1 {
		return w.words[0]
	}
	words := make([]string, len(w.words))
	for i, word := range w.words {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = word
		if _, err := schedule.Parse(strings.Join(alone, " "), schedule.Options{}); err != nil {
			word = w.list(i)
		}
		words[i] = word
	}
	both := w.star(dayOfMonth) || w.star(dayOfWeek) // fields must match, not either
	everyDay := !both && (w.all(dayOfMonth) || w.all(dayOfWeek))
	for _, field := range []int{dayOfMonth, dayOfWeek} {
		if everyDay || w.all(field) {
			words[field] = "*"
		}
	}
	return strings.Join(words, " ")
}

// list writes the values of a field: * for all of them.
func (w when) list(field int) string {
	if w.all(field) {
		return "*"
	}
	var all []string
	for v := range 60 {
		if w.values[field]&(1<<v) != 0 {
			all = append(all, strconv.Itoa(v))
		}
	}
	return strings.Join(all, ",")
}

// parse reports what package schedule refuses: a day that never comes.
func (w when) parse(r *reader) bool {
	_, err := schedule.Parse(w.spec(), schedule.Options{})
	if known, ok := errors.AsType[*schedule.SpecError](err); ok {
		r.refuse(w.at[strings.Count(w.spec()[:known.Pos], " ")], "%s", known.Msg)
	}
	return err == nil
}

// followsClock reports whether cron follows the wall clock when it jumps: it does with a
// star in the minute or the hour. Quorate does so by itself if the schedule has all hours.
func (w when) followsClock() bool { return !w.all(hour) && (w.star(minute) || w.star(hour)) }

// keepsHours reports whether the schedule has all hours, but not as a star, so that cron
// makes up for those that the clock leaves out and Quorate does not.
func (w when) keepsHours() bool { return w.all(hour) && !w.star(minute) && !w.star(hour) }

// head is the part of the configuration that a crontab says nothing about.
const head = `# Imported from a crontab: docs/coming-from/crontab.md says what differs from cron.
namespace: quorate
redis:      # your store: docs/stores.md
  nodes: [redis://127.0.0.1:7101, redis://127.0.0.1:7102, redis://127.0.0.1:7103]
scheduler:
  timezone: `

const defaults = `
defaults:
  overlap: allow    # as cron does; skip waits for the earlier run
  timeout: 24h      # cron has none
`

// render writes the configuration.
func render(r *reader) ([]byte, error) {
	jobs := &yaml.Node{Kind: yaml.MappingNode}
	for _, j := range r.jobs {
		var value yaml.Node
		if err := value.Encode(j); err != nil {
			return nil, err
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: j.Name, Tag: "!!str", HeadComment: comment(j.Comments)}
		jobs.Content = append(jobs.Content, key, &value)
	}
	jobs.FootComment = comment(r.loose)
	var out bytes.Buffer
	out.WriteString(head + r.opts.Timezone + defaults)
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(map[string]any{"jobs": jobs})
	return out.Bytes(), err
}

// comment writes lines as a YAML comment.
func comment(lines []string) string {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "" {
		return ""
	}
	return "# " + strings.ReplaceAll(text, "\n", "\n# ")
}
