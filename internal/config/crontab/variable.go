package crontab

import "strings"

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

// cutQuoted returns what stands in quotes at the beginning of text, and what follows; false if the
// quotes do not end, or there are none.
func cutQuoted(text string) (inside, after string, ended bool) {
	if !quoted(text) {
		return "", text, false
	}
	return strings.Cut(text[1:], text[:1])
}
