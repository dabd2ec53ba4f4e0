package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// shape shows a level without colour.
func shape(level style) span {
	return span{map[style]string{good: "✓", faint: "·", plain: "·", warn: "!", bad: "✕"}[level], level}
}

// sentence is one with its level before it.
func sentence(level style, text string) textLine {
	if level == good || level == faint {
		return textLine{shape(level), {" " + text, plain}}
	}
	return textLine{shape(level), {" " + text, level}}
}

// words say how the cluster is, and where it is not known what to do about it.
func (d topData) words(v topView) []textLine {
	lines := d.marginLines()
	if d.err != nil {
		lines = append(lines, d.unknown(v)...)
	}
	if d.read.IsZero() {
		return lines
	}
	if d.partial != nil {
		lines = append(lines, sentence(warn, "Not all is shown: "+d.partial.Error()))
	}
	said := []textLine{d.replicaLine(d.asOf(v.now)), d.tickLine(v.now)}
	if len(d.next) == 0 {
		said = append(said, sentence(faint, "No tick is to come: no job is served, or none ticks again."))
	}
	if d.err != nil {
		for i := range said {
			said[i] = said[i].in(faint)
		}
	}
	return append(lines, said...)
}

// asOf is the time that what is shown of the replicas is of: old news do not make a
// replica quiet.
func (d topData) asOf(now time.Time) time.Time {
	if d.err != nil {
		return d.read
	}
	return now
}

// unknown says since when nothing was read, why, and what to do.
func (d topData) unknown(v topView) []textLine {
	why := strings.TrimPrefix(report(d.err)[0], "listing: ")
	text := "What the replicas do is not known: " + why
	if !d.read.IsZero() {
		text = fmt.Sprintf("What follows is %s old: %s", rough(v.now.Sub(d.read)), why)
	}
	lines := []textLine{sentence(bad, text)}
	if errors.Is(d.err, locking.ErrNoQuorum) {
		lines = append(lines, textLine{{"  " + v.remedy, bold}})
	}
	return lines
}

// mostCells is how many cells that lack votes are named.
const mostCells = 3

// marginLines say how many more nodes may be lost: of many cells, of those that lack
// votes.
func (d topData) marginLines() []textLine {
	if d.nodesErr != nil && d.err != nil {
		return nil // that says it
	}
	if d.nodesErr != nil {
		return []textLine{sentence(bad, "Who votes is not known: "+report(d.nodesErr)[0])}
	}
	margins := listing.Margins(d.nodes)
	if len(margins) == 1 {
		return []textLine{sentence(levelOf(margins[0].Level), margins[0].Brief)}
	}
	lacking := slices.DeleteFunc(slices.Clone(margins), func(m listing.Margin) bool { return levelOf(m.Level) < warn })
	slices.SortStableFunc(lacking, func(x, y listing.Margin) int { return cmp.Compare(levelOf(y.Level), levelOf(x.Level)) })
	var lines []textLine
	for _, m := range lacking[:min(len(lacking), mostCells)] {
		lines = append(lines, sentence(levelOf(m.Level), m.Brief))
	}
	if n := len(lacking) - mostCells; n > 0 {
		lines = append(lines, sentence(warn, listing.Count(n, "other cell lacks", "other cells lack")+" votes."))
	}
	if n := len(margins) - len(lacking); n > 0 {
		lines = append(lines, sentence(good, fmt.Sprintf("%d of %d cells have all votes.", n, len(margins))))
	}
	return lines
}

func levelOf(word string) style {
	return map[string]style{"good": good, "warn": warn, "bad": bad}[word]
}

// replicaLine says who runs jobs.
func (d topData) replicaLine(now time.Time) textLine {
	var odd []string
	ready := 0
	for _, r := range d.replicas {
		switch {
		case quiet(r, now):
			odd = append(odd, r.ID+" has not been heard of for "+since(listing.Time(r.Seen), now))
		case r.State == scheduler.StateReady:
			ready++
		case r.State == scheduler.StateSkewed:
			ready++ // it runs what the others leave
			odd = append(odd, r.ID+" "+r.Odd())
		default:
			odd = append(odd, r.ID+" "+r.Odd())
		}
	}
	text := listing.Count(len(d.replicas), "replica", "replicas")
	switch {
	case len(d.replicas) == 0:
		return sentence(bad, "No replica runs, so no tick starts. Start one with quorate run.")
	case ready == 0:
		return sentence(bad, text+", none ready: "+listing.And(odd)+".")
	case len(odd) > 0:
		return sentence(warn, text+"; "+listing.And(odd)+".")
	case ready == 1:
		return sentence(faint, "1 replica, ready; there is no other to take over.")
	}
	return sentence(good, text+", all ready.")
}

// quietAfter is more than two heartbeats of a replica, one each five seconds.
const quietAfter = 11 * time.Second

// quiet tells whether a replica has missed several of its heartbeats.
func quiet(r listing.Replica, now time.Time) bool {
	return now.Sub(listing.Time(r.Seen)) > quietAfter
}

// tickLine counts how the latest ticks went.
func (d topData) tickLine(now time.Time) textLine {
	counts := map[string]int{}
	level, skipped := good, ""
	for _, t := range d.ticks {
		switch {
		case unwell(t):
			counts["unwell"]++
			level = max(level, tickLevel(t))
		case t.Outcome == scheduler.Skipped:
			counts["skipped"]++
			skipped = cmp.Or(skipped, listing.Text(t.Reason))
		case t.Outcome == scheduler.Succeeded:
			counts["well"]++
		}
	}
	from := d.counted(now)
	var parts []string
	switch n := counts["well"]; {
	case counts["unwell"] > 0:
		parts = append(parts, fmt.Sprintf("%s did not go well %s, %d did", listing.Count(counts["unwell"], "tick", "ticks"), from, n))
	case n > 0:
		parts = append(parts, fmt.Sprintf("%s went well %s, none badly", listing.Count(n, "tick", "ticks"), from))
	default:
		level = faint
		parts = append(parts, "No run has ended "+from)
	}
	if n := counts["skipped"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped, last for %s", n, skipped))
	}
	return sentence(level, strings.Join(parts, "; ")+".")
}

// counted says which ticks are counted.
func (d topData) counted(now time.Time) string {
	if d.cut {
		return fmt.Sprintf("in the latest %d, since %s", len(d.ticks), clockAt(d.since, now))
	}
	return "since " + strings.TrimSuffix(clockAt(d.since.Truncate(time.Minute), now), ":00")
}

// unwell tells whether a tick did not go as it should have.
func unwell(t listing.Tick) bool {
	switch t.Outcome {
	case scheduler.Failed, scheduler.TimedOut, scheduler.LeaseLost, scheduler.Interrupted, scheduler.Missed:
		return true
	}
	return t.StaleWrites > 0
}

func tickLevel(t listing.Tick) style {
	if t.Outcome == scheduler.Missed || t.Outcome == scheduler.Succeeded {
		return warn
	}
	return bad
}

// rough is a duration in one or two units.
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

// clockAt is a time of day in UTC, with the date if that is another than now's.
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
