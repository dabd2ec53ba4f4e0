package top

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// remedy is what to do if the store does not answer.
const remedy = "Start what is down; quorate store check says what is wrong."

// A layout holds the settings of a frame.
type layout struct {
	name          string // of the cluster
	remedy        string // what to do if the store does not answer
	width, height int    // of the terminal; height 0: unlimited
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
	left := fmt.Sprintf("quorate top  %s  %s UTC", v.name, v.now.UTC().Format(time.TimeOnly))
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

// A section is a titled part of the frame.
type section struct {
	title string
	few   int // rows it gets before other sections get more
	// endless: the list has no known end.
	endless bool
	grid
}

// sections are the sections with rows, the most urgent first. Those of an old snapshot are
// faint.
func (d snapshot) sections(now time.Time) []section {
	all := []section{d.problemRows(now), d.runningRows(now), d.nextRows(now), d.replicaRows(d.asOf(now)), d.nodeRows()}
	for i, s := range all {
		err := d.err
		if i == len(all)-1 {
			err = d.nodesErr
		}
		if err != nil {
			fade(s.rows)
		}
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.rows) == 0 })
}

// fade makes lines faint.
func fade(lines []textLine) {
	for _, line := range lines {
		for i := range line {
			line[i].style = faint
		}
	}
}

// problemRows has a row for each job and outcome with problems: the last one, and how many
// there were.
func (d snapshot) problemRows(now time.Time) section {
	s := section{title: "PROBLEMS", few: 6, grid: grid{drop: []int{5}, cut: []int{6, 2}, most: map[int]int{2: 32, 5: 24}}}
	type problem struct {
		job     string
		outcome ledger.Outcome
	}
	problems := slices.DeleteFunc(slices.Clone(d.ticks), func(t view.Tick) bool { return levelOf(t.Level()) < warn })
	times := map[problem]int{}
	for _, t := range problems {
		times[problem{t.Job, t.Outcome}]++
	}
	for _, t := range problems {
		of := problem{t.Job, t.Outcome}
		n := times[of]
		if n == 0 {
			continue // it has a row
		}
		times[of] = 0
		often := ""
		if n > 1 {
			often = fmt.Sprintf("%d times", n)
		}
		level := levelOf(t.Level())
		s.rows = append(s.rows, textLine{
			shape(level),
			{clockAt(view.Time(&t.Tick), now), plain},
			{t.Job, bold},
			{strings.ReplaceAll(string(t.Outcome), "_", " "), level},
			{often, warn},
			{output.Dash(t.Replica), faint},
			{problemText(t), plain},
		})
	}
	return s
}

func problemText(t view.Tick) string {
	why := output.Why(t.Run)
	if t.StaleWrites == 0 {
		return why
	}
	return strings.TrimSuffix(view.Count(t.StaleWrites, "stale write", "stale writes")+" refused: "+why, ": ")
}

func (d snapshot) runningRows(now time.Time) section {
	s := section{title: "RUNNING", few: 5, grid: grid{drop: []int{5, 4}, cut: []int{1, 2, 6}, most: map[int]int{1: 32, 2: 27}}}
	for _, r := range d.running {
		s.rows = append(s.rows, textLine{
			{"▶", good},
			{r.Job, bold},
			{"on " + output.Dash(r.Replica), plain},
			{"for " + rough(now.Sub(view.Time(r.Started))), plain},
			{"tick " + clockAt(view.Time(&r.Tick), now), faint},
			{"token " + output.Dash(r.Token), faint},
			{output.Unusual(r), warn},
		})
	}
	return s
}

func (d snapshot) nextRows(now time.Time) section {
	s := section{title: "NEXT", endless: true, few: 2, grid: grid{cut: []int{1, 4}, most: map[int]int{1: 32}}}
	for _, n := range d.next {
		at := view.Time(cmp.Or(n.Start, &n.Tick))
		in := "in " + rough(at.Sub(now))
		if at.Before(now) {
			in = "now"
		}
		s.rows = append(s.rows, textLine{{"·", faint}, {n.Job, bold}, {in, plain}, {clockAt(at, now), faint}, {n.Remark(), faint}})
	}
	return s
}

func (d snapshot) replicaRows(now time.Time) section {
	s := section{title: "REPLICAS", few: 3, grid: grid{drop: []int{7, 6, 4}, cut: []int{8, 1}, most: map[int]int{1: 32}}}
	won := map[string]int{}
	for _, t := range d.ticks {
		if t.Ran() {
			won[view.Text(t.Replica)]++
		}
	}
	for _, r := range d.replicas {
		level := levelOf(r.Level(now))
		running := "idle"
		if len(r.Running) > 0 {
			running = "runs " + view.And(r.Running)
		}
		s.rows = append(s.rows, textLine{
			shape(level),
			{r.ID, bold},
			{r.State, level},
			{fmt.Sprintf("won %d", won[r.ID]), plain},
			{"up " + rough(now.Sub(view.Time(r.Started))), plain},
			{"seen " + rough(now.Sub(view.Time(r.Seen))) + " ago", plain},
			{r.Host + ":" + strconv.Itoa(r.PID), faint},
			{r.Version, faint},
			{running, plain},
		})
	}
	return worstFirst(s)
}

func (d snapshot) nodeRows() section {
	title := "NODES"
	if len(d.nodes) > 0 && d.nodes[0].Kind == view.KindStore {
		title = "STORE"
	}
	s := section{title: title, few: 5, grid: grid{drop: []int{4}, cut: []int{5, 1}, most: map[int]int{1: 40}}}
	for _, n := range d.nodes {
		level, latency := levelOf(n.Level()), ""
		if n.RTTMillis != nil {
			latency = output.Millis(n.RTTMillis)
		}
		s.rows = append(s.rows, textLine{
			shape(level),
			{n.Node, bold},
			{n.State, level},
			{latency, plain},
			{clockOffset(n), faint},
			{output.NodeNotes(n), plain},
		})
	}
	return worstFirst(s)
}

// clockOffset is the offset of a node's clock, if it is a millisecond or more.
func clockOffset(n view.Node) string {
	if n.OffsetMilli == nil || math.Abs(*n.OffsetMilli) < 1 {
		return ""
	}
	return fmt.Sprintf("clock %+.0fms", *n.OffsetMilli)
}

// worstFirst sorts the rows that need attention first.
func worstFirst(s section) section {
	slices.SortStableFunc(s.rows, func(x, y textLine) int { return cmp.Compare(y[0].style, x[0].style) })
	return s
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
		fade(said)
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
		text = fmt.Sprintf("The rest is %s old: %s", rough(v.now.Sub(d.read)), why)
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

// rough writes a duration in one or two units.
func rough(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
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
