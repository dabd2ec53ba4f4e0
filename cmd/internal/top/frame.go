package top

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
)

// remedy is what to do if the store does not answer.
const remedy = "Start what is down; quorate store check says what is wrong."

// A layout holds the settings of a frame.
type layout struct {
	state
	name          string // of the cluster
	remedy        string // what to do if the store does not answer
	width, height int    // of the terminal; height 0: unlimited
	color         bool
	live          bool   // there are keys
	note          string // in the title
	now           time.Time
}

// frame lays out the snapshot in at most v.height lines of at most v.width columns.
func (d snapshot) frame(v layout) []string {
	bottom := v.bottom()
	lines := []textLine{v.title()}
	room := v.height - len(lines) - len(bottom)
	switch {
	case v.help:
		lines = append(lines, helpLines()...)
	case v.page != nil:
		all := d.pageLines(v)
		first := min(v.page.scroll, max(0, len(all)-room))
		lines = append(lines, all[first:]...)
	default:
		lines = append(lines, d.overview(v, room)...)
	}
	if v.height > 0 {
		bottom = bottom[max(0, len(bottom)-v.height):] // the end of a question says how to answer it
		lines = lines[:min(len(lines), v.height-len(bottom))]
		for len(bottom) > 0 && len(lines)+len(bottom) < v.height {
			lines = append(lines, textLine{})
		}
		lines = append(lines, bottom...)
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.render(v.width, v.color)
	}
	return texts
}

// extent is what keys can reach in the frame.
func (d snapshot) extent(v layout) extent {
	if v.page != nil {
		return extent{scroll: max(0, len(d.pageLines(v))-v.height+1+len(v.bottom()))}
	}
	return extent{rows: rowIDs(d.sections(v.state, v.now))}
}

// title has the search, the name of the cluster, the time, and on a terminal the keys.
func (v layout) title() textLine {
	l := textLine{{"quorate top", bold}}
	if v.search != "" {
		l = append(l, span{"  /" + v.search, warn})
	}
	l = append(l, span{fmt.Sprintf("  %s  %s UTC", v.name, v.now.UTC().Format(time.TimeOnly)), bold})
	keys := "? help  q quit"
	switch {
	case v.help || v.page != nil && v.page.row.about.kind != aJob:
		keys = "? help  q back"
	case v.page != nil:
		keys = "t trigger  p pause  ? help  q back"
	}
	used := 0
	for _, s := range l {
		used += utf8.RuneCountInString(s.text)
	}
	for _, right := range []string{v.note + "  " + keys, keys} {
		room := v.width - used - utf8.RuneCountInString(right)
		if v.live && room >= output.Gap {
			return append(l, span{strings.Repeat(" ", room) + right, faint})
		}
	}
	return l
}

// overview describes the cluster in sentences, and below them in sections. The selected row
// has room first.
func (d snapshot) overview(v layout, room int) []textLine {
	lines := d.words(v)
	if v.height > 0 {
		lines = lines[:min(len(lines), max(0, room-2))]
	}
	return append(lines, d.body(v, room-len(lines))...)
}

// body lays the sections out in so many lines, with space between them if possible.
func (d snapshot) body(v layout, room int) []textLine {
	all := d.sections(v.state, v.now)
	if len(all) == 0 && v.search != "" {
		return paragraph("No job, replica or node matches /"+v.search+". Esc clears the search.", v.width, plain)
	}
	if v.height == 0 {
		room = 1 << 20
	}
	selected := -1
	if v.live {
		selected = v.locate(rowIDs(all))
	}
	in, at := position(all, selected)
	rows, left := share(all, in, room)
	var lines []textLine
	for i, s := range all {
		if rows[i] == 0 {
			continue
		}
		if left >= len(all) {
			lines = append(lines, textLine{})
		}
		first := 0
		if i == in { // the selected row is in the middle, unless the list begins or ends there
			first = min(max(0, at-rows[i]/2), len(s.rows)-rows[i])
		}
		shown := s.lines(first, rows[i], v.width)
		if i == in {
			shown[at-first] = shown[at-first].choose(v.width)
		}
		lines = append(lines, s.head(rows[i], v.live))
		lines = append(lines, shown...)
	}
	return lines
}

// position is the section of the n-th of all rows, and its place there; -1 for n -1.
func position(all []section, n int) (in, at int) {
	if n < 0 {
		return -1, -1
	}
	for i, s := range all {
		if n < len(s.rows) {
			return i, n
		}
		n -= len(s.rows)
	}
	return -1, -1
}

// head is the title of a section with so many visible rows. Where keys can change it, it
// shows the order.
func (s section) head(shown int, live bool) textLine {
	if s.endless {
		return textLine{{s.title, bold}}
	}
	count := fmt.Sprint(len(s.rows))
	if shown < len(s.rows) {
		count = fmt.Sprintf("%d of %d", shown, len(s.rows))
	}
	if live && s.order != "" {
		count += ", " + s.order
	}
	return textLine{{s.title, bold}, {" " + count, faint}}
}

// share distributes lines among the sections: first a row and the title each, beginning
// with the section of the selected row, then the rows that they need most, then the rest.
// Left is what remains.
func share(all []section, selected, room int) (rows []int, left int) {
	rows = make([]int, len(all))
	begin := func(i int) {
		if room >= 2 && rows[i] == 0 {
			rows[i] = 1
			room -= 2
		}
	}
	if selected >= 0 {
		begin(selected)
	}
	for i := range all {
		begin(i)
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
		"  ↑ ↓, k j    select a row; PgUp, PgDn, Home, End, Tab: further away",
		"  Enter       show the job, replica or node of the row",
		"  q, Esc      back; q quits from the overview",
		"  /           search jobs, replicas and nodes by name",
		"  s           order the problems: newest, most often, by name",
		"  t           trigger the job: run it once, now",
		"  p           pause the job, or resume it",
		"  space       refresh now",
		"  ?           show or hide this help",
		"  Ctrl-C      quit",
		"  Ctrl-Z      suspend; fg continues",
		"",
		"  t and p ask before they do anything; the audit log records your name.",
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

// shape shows a level without colour.
func shape(level style) span {
	return span{map[style]string{good: "✓", faint: "·", plain: "·", warn: "!", bad: "✕"}[level], level}
}

// sentence puts a level before a text, which has its colour if it needs attention.
func sentence(l view.Level, text string) textLine {
	level := levelOf(l)
	if level < warn {
		return textLine{shape(level), {" " + text, plain}}
	}
	return textLine{shape(level), {" " + text, level}}
}

// words describe the cluster, and what to do if its state is unknown.
func (d snapshot) words(v layout) []textLine {
	lines := d.marginLines()
	if d.err != nil {
		lines = append(lines, d.unknown(v)...)
	}
	if d.read.IsZero() {
		return lines
	}
	replicas, _ := view.ReplicaHealth(d.replicas, d.ticks, d.asOf(v.now))
	said := []textLine{lineOf(replicas), d.tickLine(v.now)}
	if len(d.next) == 0 {
		said = append(said, lineOf(view.NoTickPlanned()))
	}
	if d.err != nil {
		for _, line := range said {
			fade(line)
		}
	}
	return append(lines, said...)
}

// asOf is the time of the snapshot's replicas. An old snapshot does not make them silent.
func (d snapshot) asOf(now time.Time) time.Time {
	if d.err != nil {
		return d.read
	}
	return now
}

// unknown says how old the snapshot is, why, and what to do.
func (d snapshot) unknown(v layout) []textLine {
	why := failure.Lines(d.err)[0]
	text := "The state of the replicas is unknown: " + why
	if !d.read.IsZero() {
		text = fmt.Sprintf("The rest is %s old: %s", output.Rough(v.now.Sub(d.read)), why)
	}
	lines := []textLine{sentence(view.Bad, text)}
	if errors.Is(d.err, locking.ErrNoQuorum) {
		lines = append(lines, textLine{{"  " + v.remedy, bold}})
	}
	return lines
}

// marginLines say how many more nodes may fail, or how the only store is.
func (d snapshot) marginLines() []textLine {
	switch {
	case d.nodesErr != nil && d.err != nil:
		return nil // d.err says the same
	case d.nodesErr != nil:
		return []textLine{sentence(view.Bad, "The state of the store is unknown: "+failure.Lines(d.nodesErr)[0])}
	}
	m := view.MarginOf(d.nodes)
	return []textLine{sentence(m.Level, m.Brief)}
}

func levelOf(l view.Level) style {
	return map[view.Level]style{view.Calm: faint, view.Good: good, view.Busy: good, view.Warn: warn, view.Bad: bad}[l]
}

func lineOf(s view.Sentence) textLine {
	return sentence(s.Level, strings.TrimSuffix(s.Text+" "+s.More, " "))
}

// tickLine counts the outcomes of the latest ticks.
func (d snapshot) tickLine(now time.Time) textLine {
	since := clockAt(d.since, now)
	if !d.cut {
		since = strings.TrimSuffix(clockAt(d.since.Truncate(time.Minute), now), ":00")
	}
	return lineOf(view.TickHealth(d.ticks, d.cut, since))
}

// clockAt is a time of day in UTC, with the date if it is not today.
func clockAt(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	switch {
	case t.IsZero():
		return "-"
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format(time.TimeOnly)
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}
