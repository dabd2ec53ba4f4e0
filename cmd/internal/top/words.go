package top

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
)

// shape shows a level without colour.
func shape(level style) span {
	return span{map[style]string{good: "✓", faint: "·", plain: "·", warn: "!", bad: "✕"}[level], level}
}

// sentence puts a level before a text.
func sentence(level style, text string) textLine {
	if level == good || level == faint {
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
	said := []textLine{d.replicaLine(d.asOf(v.now)), d.tickLine(v.now)}
	if len(d.next) == 0 {
		said = append(said, lineOf(view.NoTickPlanned()))
	}
	if d.err != nil {
		for i := range said {
			said[i] = said[i].in(faint)
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
	why := strings.TrimPrefix(failure.Lines(d.err)[0], "listing: ")
	text := "The state of the replicas is unknown: " + why
	if !d.read.IsZero() {
		text = fmt.Sprintf("The rest is %s old: %s", rough(v.now.Sub(d.read)), why)
	}
	lines := []textLine{sentence(bad, text)}
	if errors.Is(d.err, locking.ErrNoQuorum) {
		lines = append(lines, textLine{{"  " + v.about.Remedy, bold}})
	}
	return lines
}

// marginLines say how many more nodes may fail, or how the only store is.
func (d snapshot) marginLines() []textLine {
	switch {
	case d.nodesErr != nil && d.err != nil:
		return nil // d.err says the same
	case d.nodesErr != nil:
		return []textLine{sentence(bad, "The state of the store is unknown: "+failure.Lines(d.nodesErr)[0])}
	}
	m := view.MarginOf(d.nodes)
	return []textLine{sentence(levelOf(m.Level), m.Brief)}
}

func levelOf(l view.Level) style {
	return map[view.Level]style{view.Calm: faint, view.Good: good, view.Warn: warn, view.Bad: bad}[l]
}

// replicaLine describes the replicas.
func (d snapshot) replicaLine(now time.Time) textLine {
	s, _ := view.ReplicaHealth(d.replicas, d.ticks, now)
	return lineOf(s)
}

func lineOf(s view.Sentence) textLine {
	return sentence(levelOf(s.Level), strings.TrimSuffix(s.Text+" "+s.More, " "))
}

// tickLine counts the outcomes of the latest ticks.
func (d snapshot) tickLine(now time.Time) textLine {
	since := clockAt(d.since, now)
	if !d.cut {
		since = strings.TrimSuffix(clockAt(d.since.Truncate(time.Minute), now), ":00")
	}
	return lineOf(view.TickHealth(d.ticks, d.cut, since))
}

// isProblem reports whether a tick failed, was missed, or had refused writes.
func isProblem(t view.Tick) bool { return levelOf(t.Level()) >= warn }

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
