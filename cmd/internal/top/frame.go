package top

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
)

// A layout holds the settings of a frame.
type layout struct {
	about         cluster.About
	width, height int // of the terminal; height 0: unlimited
	color         bool
	live          bool   // there are keys
	help          bool   // show the keys
	note          string // in the title
	now           time.Time
}

// frame lays out the snapshot in at most v.height lines of at most v.width columns.
func (d snapshot) frame(v layout) []string {
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

// title has the name of the cluster, the time, and on a terminal the keys.
func (v layout) title() textLine {
	left := fmt.Sprintf("quorate top  %s  %s UTC", v.about.Name, v.now.UTC().Format(time.TimeOnly))
	l := textLine{{left, bold}}
	for _, right := range []string{v.note + "  ? help  q quit", "? help  q quit"} {
		room := v.width - utf8.RuneCountInString(left) - utf8.RuneCountInString(right)
		if v.live && room >= output.Gap {
			return append(l, span{strings.Repeat(" ", room) + right, faint})
		}
	}
	return l
}

// body lays the sections out in so many lines, with space between them if possible.
func (d snapshot) body(v layout, room int) []textLine {
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

// head is the title of a section with so many visible rows.
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

// share distributes lines among the sections: first a row and the title each, then the
// rows that they need most, then the rest. Left is what remains.
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
		"  ?           show or hide this help",
		"  space       refresh now",
		"  Ctrl-Z      suspend; fg continues",
		"",
		"  ✓ good   ! needs attention   ✕ bad   ▶ running",
		"",
		"  The first lines summarize the cluster. Below them are the latest problems,",
		"  the running jobs, the next ticks, the replicas, and the store or its nodes.",
		"  More: quorate ticks JOB, logs JOB, store check, locks. Times are UTC.",
	}
	lines := make([]textLine, len(text))
	for i, t := range text {
		lines[i] = textLine{{t, plain}}
	}
	return lines
}
