package cmd

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A topView is how a frame is to look.
type topView struct {
	of, remedy    string // see topSource
	width, height int    // of the terminal; height 0: as long as need be
	color         bool
	live          bool   // there are keys to press
	help          bool   // show what they do
	note          string // for the title
	now           time.Time
}

// frame lays out what is known. It has at most v.height lines of at most v.width
// columns, and depends on nothing else.
func (d topData) frame(v topView) []string {
	lines := []textLine{v.title()}
	if v.help {
		lines = append(lines, helpLines()...)
	} else {
		lines = append(lines, d.words(v)...)
		lines = append(lines, d.body(v, v.height-len(lines))...)
	}
	if v.height > 0 {
		lines = lines[:min(len(lines), v.height)]
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.render(v.width, v.color)
	}
	return texts
}

// title says what is looked at and when, and on a terminal which keys there are.
func (v topView) title() textLine {
	left := fmt.Sprintf("quorate top  %s  %s UTC", v.of, v.now.UTC().Format(time.TimeOnly))
	l := textLine{{left, bold}}
	for _, right := range []string{v.note + "  ? help  q quit", "? help  q quit"} {
		room := v.width - utf8.RuneCountInString(left) - utf8.RuneCountInString(right)
		if v.live && room >= gap {
			return append(l, span{strings.Repeat(" ", room) + right, faint})
		}
	}
	return l
}

// body lays the sections out in so many lines, with space between them if there is
// room.
func (d topData) body(v topView, room int) []textLine {
	all := d.sections(v.now)
	if v.height == 0 {
		room = 1 << 20
	}
	rows, left := share(all, room)
	var lines []textLine
	for i, s := range all {
		if rows[i] == 0 {
			continue
		}
		if left >= len(all) {
			lines = append(lines, textLine{})
		}
		lines = append(lines, s.head(rows[i]))
		lines = append(lines, s.lines(rows[i], v.width)...)
	}
	return lines
}

// head is the title of a section of which so many rows are shown.
func (s section) head(shown int) textLine {
	if s.endless {
		return textLine{{s.title, bold}}
	}
	count := fmt.Sprint(len(s.rows))
	if shown < len(s.rows) {
		count = fmt.Sprintf("%d of %d", shown, len(s.rows))
	}
	return textLine{{s.title, bold}, {" " + count, faint}}
}

// share gives each section a share of the lines that there are: first all a line and
// their title, then in turn what they need most, then the rest. It returns what is
// left.
func share(all []section, room int) (rows []int, left int) {
	rows = make([]int, len(all))
	for i := range all {
		if room >= 2 {
			rows[i] = 1
			room -= 2
		}
	}
	for _, bound := range []func(section) int{
		func(s section) int { return min(s.few, len(s.rows)) },
		func(s section) int { return len(s.rows) },
	} {
		for given := true; given; {
			given = false
			for i, s := range all {
				if rows[i] > 0 && rows[i] < bound(s) && room > 0 {
					rows[i]++
					room--
					given = true
				}
			}
		}
	}
	return rows, room
}

func helpLines() []textLine {
	text := []string{
		"",
		"  q, Ctrl-C   quit",
		"  ?           show this, or the cluster again",
		"  space       look at the cluster now",
		"  Ctrl-Z      suspend; fg goes on",
		"",
		"  ✓ well   ! not as it should be   ✕ bad   ▶ runs",
		"",
		"  The sentences on top say how it is; below them stands what did not go",
		"  well lately, what runs, what comes next, who runs it, and who votes.",
		"  More: quorate ticks JOB, logs JOB, nodes check, locks. Times are UTC.",
	}
	lines := make([]textLine, len(text))
	for i, t := range text {
		lines[i] = textLine{{t, plain}}
	}
	return lines
}
