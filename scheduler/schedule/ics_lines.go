package schedule

import (
	"fmt"
	"strings"
)

// A CalendarError is an error in an .ics file, with its line.
type CalendarError struct {
	Line int // from 1
	Msg  string
}

func (e *CalendarError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// A contentLine is one property of an .ics file, unfolded: a name, parameters
// and a value.
type contentLine struct {
	line  int // of its first part
	name  string
	zone  string // the parameter TZID
	value string
}

func (l contentLine) fail(format string, args ...any) error {
	return &CalendarError{l.line, fmt.Sprintf(format, args...)}
}

// contentLines unfolds the lines of a file: a line that begins with a blank continues the
// one before.
func contentLines(text string) ([]contentLine, error) {
	var lines []contentLine
	number := 0
	for physical := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		physical = strings.TrimRight(physical, "\r\n")
		switch {
		case physical == "":
		case physical[0] != ' ' && physical[0] != '\t':
			lines = append(lines, contentLine{line: number, value: physical})
		case len(lines) == 0:
			return nil, &CalendarError{number, "goes on from a line that is not there: is the file cut off?"}
		default:
			lines[len(lines)-1].value += physical[1:]
		}
	}
	for i := range lines {
		if !lines[i].parse() {
			return nil, lines[i].fail("is not a line of an iCalendar file: NAME:VALUE belongs there")
		}
	}
	return lines, nil
}

// parse takes NAME;PARAM=VALUE;PARAM="VALUE":VALUE apart.
func (l *contentLine) parse() bool {
	quoted := false
	colon := strings.IndexFunc(l.value, func(r rune) bool {
		quoted = quoted != (r == '"')
		return r == ':' && !quoted
	})
	if colon <= 0 {
		return false
	}
	head := strings.Split(l.value[:colon], ";")
	l.name, l.value = strings.ToUpper(head[0]), l.value[colon+1:]
	for _, param := range head[1:] {
		if key, value, _ := strings.Cut(param, "="); strings.EqualFold(key, "TZID") {
			l.zone = strings.Trim(value, `"`)
		}
	}
	return l.name != ""
}
