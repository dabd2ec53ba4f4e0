package crontab_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A cronLine is a line as cron(8) and crontab(5) of Debian describe it, by a reading of its
// own: it looks at one minute after the other.
type cronLine struct {
	fields   [5]map[int]bool
	wildcard bool // "specified as @hourly, or with * in the hour or minute specifier"
	// "If both fields are restricted (ie, aren't *), the command will be run when either
	// field matches". To cron's code a field that begins with a star is not restricted.
	eitherDay bool
}

func readCronLine(t *testing.T, line string) cronLine {
	t.Helper()
	words := strings.Fields(line)
	if short := map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}[words[0]]; short != "" {
		words = strings.Fields(short)
	}
	c := cronLine{
		wildcard:  words[0][0] == '*' || words[1][0] == '*',
		eitherDay: words[2][0] != '*' && words[4][0] != '*',
	}
	for i := range c.fields {
		c.fields[i] = map[int]bool{}
		for part := range strings.SplitSeq(words[i], ",") {
			c.mark(t, i, part)
		}
	}
	if c.fields[4][7] {
		c.fields[4][0] = true
	}
	return c
}

func (c cronLine) mark(t *testing.T, i int, part string) {
	t.Helper()
	limits := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}
	base, step, stepped := strings.Cut(part, "/")
	if !stepped {
		step = "1"
	}
	first, last, ranged := strings.Cut(base, "-")
	lo, hi := limits[i][0], limits[i][1]
	if base != "*" {
		lo = cronNumber(t, first)
		if hi = lo; ranged {
			hi = cronNumber(t, last)
		}
	}
	for v := lo; v <= hi; v += cronNumber(t, step) {
		c.fields[i][v] = true
	}
}

func cronNumber(t *testing.T, text string) int {
	t.Helper()
	if i := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(text)); i >= 0 {
		return i
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// matches tells whether cron runs the line when the wall clock shows the time.
func (c cronLine) matches(clock time.Time) bool {
	if !c.fields[0][clock.Minute()] || !c.fields[1][clock.Hour()] || !c.fields[3][int(clock.Month())] {
		return false
	}
	date, weekday := c.fields[2][clock.Day()], c.fields[4][int(clock.Weekday())]
	if c.eitherDay {
		return date || weekday
	}
	return date && weekday
}

// A cronMinute is a minute of the machine: when it is, what the clock shows, and the times
// that the clock left out just before.
type cronMinute struct {
	at      time.Time
	clock   time.Time // as if the zone were UTC
	left    []time.Time
	repeats bool // the clock has shown this time before
}

// cronMinutes are those of a year in the zone.
func cronMinutes(year int, zone *time.Location) []cronMinute {
	var all []cronMinute
	var latest time.Time
	for at := time.Date(year, 1, 1, 0, 0, 0, 0, zone); at.Year() == year; at = at.Add(time.Minute) {
		m := cronMinute{at: at.UTC(), clock: time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)}
		if m.repeats = !m.clock.After(latest); !latest.IsZero() && !m.repeats {
			for left := latest.Add(time.Minute); left.Before(m.clock); left = left.Add(time.Minute) {
				m.left = append(m.left, left)
			}
		}
		if m.clock.After(latest) {
			latest = m.clock
		}
		all = append(all, m)
	}
	return all
}

// ticks are the instants at which cron runs the line: with a wildcard by the clock alone,
// else those that the clock left out soon after, and none a second time.
func (c cronLine) ticks(minutes []cronMinute) (all []time.Time) {
	for _, m := range minutes {
		if c.wildcard && c.matches(m.clock) || !c.wildcard && (!m.repeats && c.matches(m.clock) || slices.ContainsFunc(m.left, c.matches)) {
			all = append(all, m.at)
		}
	}
	return all
}
