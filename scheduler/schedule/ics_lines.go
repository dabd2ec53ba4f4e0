package schedule

import (
	"fmt"
	"strings"
)

// A CalendarError says what in an .ics file is not understood, and where.
type CalendarError struct {
	Line int // from 1
	Msg  string
}

func (e *CalendarError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// A contentLine is one property of an .ics file, unfolded: a name, parameters
// and a value.
type contentLine struct {
	line   int // of its first part
	name   string
	params map[string]string
	value  string
}

func (l contentLine) fail(format string, args ...any) error {
	return &CalendarError{l.line, fmt.Sprintf(format, args...)}
}

// contentLines unfolds the lines of a file: one that begins with a blank goes
// on from the one before.
func contentLines(text string) ([]contentLine, error) {
	var lines []contentLine
	var unfolded []string
	text = strings.TrimPrefix(text, "\ufeff")
	number := 0
	for physical := range strings.Lines(text) {
		number++
		physical = strings.TrimRight(physical, "\r\n")
		switch {
		case physical == "":
		case physical[0] == ' ' || physical[0] == '\t':
			if len(unfolded) == 0 {
				return nil, &CalendarError{number, "goes on from a line that is not there: is the file cut off?"}
			}
			unfolded[len(unfolded)-1] += physical[1:]
		default:
			unfolded = append(unfolded, physical)
			lines = append(lines, contentLine{line: number})
		}
	}
	for i := range lines {
		if !lines[i].parse(unfolded[i]) {
			return nil, lines[i].fail("is not a line of an iCalendar file: NAME:VALUE belongs there")
		}
	}
	return lines, nil
}

// parse reads NAME;PARAM=VALUE;PARAM="VALUE":VALUE.
func (l *contentLine) parse(text string) bool {
	head, quoted := len(text), false
	for i := range len(text) {
		if text[i] == '"' {
			quoted = !quoted
		}
		if text[i] == ':' && !quoted {
			head = i
			break
		}
	}
	if head == len(text) {
		return false
	}
	l.value = text[head+1:]
	parts := strings.Split(text[:head], ";")
	l.name = strings.ToUpper(parts[0])
	l.params = map[string]string{}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		l.params[strings.ToUpper(key)] = strings.Trim(value, `"`)
	}
	return l.name != ""
}
