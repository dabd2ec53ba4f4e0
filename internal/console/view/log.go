package view

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A LogLine is a line of a log. Of one that slog did not write only Text is set.
type LogLine struct {
	At    time.Time
	Level string // or the stream of a line that a command wrote: stdout or stderr
	Text  string
	Rest  string // attributes, as they were written
}

// What slog writes of a line, and of one that a command of an exec job wrote.
var (
	slogLine    = regexp.MustCompile(`^time=(\S+) level=(\S+) msg=("(?:[^"\\]|\\.)*"|\S*) ?(.*)$`)
	commandLine = regexp.MustCompile(`^stream=(stdout|stderr) line=("(?:[^"\\]|\\.)*"|\S*)$`)
)

// Lines takes the log apart.
func (l Log) Lines() (lines []LogLine) {
	for text := range strings.Lines(l.Text) {
		lines = append(lines, newLogLine(strings.TrimSuffix(text, "\n")))
	}
	return lines
}

func newLogLine(text string) LogLine {
	m := slogLine.FindStringSubmatch(text)
	if m == nil {
		return LogLine{Text: text}
	}
	at, err := time.Parse(time.RFC3339Nano, m[1])
	if err != nil {
		return LogLine{Text: text}
	}
	line := LogLine{At: at, Level: m[2], Text: unquoted(m[3]), Rest: m[4]}
	if c := commandLine.FindStringSubmatch(m[4]); c != nil && line.Text == "output" {
		line.Level, line.Text, line.Rest = c[1], unquoted(c[2]), ""
	}
	return line
}

// unquoted is a value of slog without its quotes, if it has some.
func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}
