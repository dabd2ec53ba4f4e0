package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A line is one statement about the cluster.
type line struct {
	Level view.Level
	Text  string
	Path  string // a page with details
	More  string // small print
}

// Shape shows the level without colour.
func (l line) Shape() string {
	return map[view.Level]string{view.Good: "✓", view.Calm: "·", view.Warn: "!", view.Bad: "✕"}[l.Level]
}

// lineOf is a sentence with a link to details.
func lineOf(s view.Sentence, path string) line { return line{s.Level, s.Text, path, s.More} }

// words describes the cluster, the most important first.
func (all *glance) words() []line {
	lines := append([]line{quorumLine(all.visit, all.nodes)}, all.warningLines()...)
	if all.unknown != nil {
		why := "no quorum of nodes answers"
		switch {
		case view.Quorate(all.nodes) == nil && all.OneStore():
			why = "it could not be read, although the store answers"
		case view.Quorate(all.nodes) == nil:
			why = "it could not be read, although the nodes answer"
		case all.OneStore():
			why = "the store does not answer"
		}
		return append(lines, line{view.Bad, "The state of the replicas is unknown: " + why + ".", all.To("/nodes"), all.unknown.Error()})
	}
	var latest []view.Tick
	for _, e := range all.entries {
		latest = append(latest, view.NewTick(e))
	}
	lines = append(lines, all.replicaLine(latest),
		lineOf(view.TickHealth(latest, all.cut, all.countedSince()), all.To("/ticks")),
		all.problemLine(view.Bad, "Failed", view.ProblemFailed, whyOf),
		all.problemLine(view.Warn, "Missed", view.ProblemMissed, whyOf),
		all.problemLine(view.Warn, "Interrupted and run again", view.ProblemInterrupted, interruptedBy),
		all.problemLine(view.Warn, "A guard refused stale writes", view.ProblemStale, writer),
		all.pauseLine(), all.runningLine(), all.lackingLine(), all.nextLine())
	return slices.DeleteFunc(lines, func(l line) bool { return l.Text == "" })
}

// warningLines are the problems of the replica that serves the page.
func (all *glance) warningLines() []line {
	if all.Warnings == nil {
		return nil
	}
	var lines []line
	for _, text := range all.Warnings() {
		lines = append(lines, line{Level: view.Warn, Text: text})
	}
	return lines
}

// quorumLine says how many more nodes may fail.
func quorumLine(v *visit, nodes []view.Node) line {
	return lineOf(view.MarginOf(nodes).Sentence, v.To("/nodes"))
}

// replicaLine describes the replicas, and the ones that are gone.
func (all *glance) replicaLine(latest []view.Tick) line {
	s, drift := view.ReplicaHealth(all.replicas.Items, latest, all.asOf())
	if !all.Stale.IsZero() {
		return line{view.Calm, "At " + all.clock(all.Stale) + ": " + s.Text, all.To("/replicas"), s.More}
	}
	if drift {
		return lineOf(s, all.To("/configuration"))
	}
	return lineOf(s, all.To("/replicas"))
}

// problemLine names the jobs with a problem in the last 24 hours, the latest first.
func (all *glance) problemLine(level view.Level, name string, kind view.Problem, why func(ledger.Entry) string) line {
	list := view.WithProblem(all.problems, kind)
	if len(list) == 0 {
		return line{}
	}
	var names []string
	for _, p := range list {
		text := p.Job
		if n := p.Count[kind]; n > 1 {
			text += fmt.Sprintf(" (%d times)", n)
		}
		names = append(names, text)
	}
	last := list[0].Last[kind]
	return line{
		Level: level, Text: name + " in the last 24 h: " + view.And(names) + ".", Path: all.runPath(last),
		More: "Last " + ago(last.OrderKey().Sub(all.Now)) + ", " + last.Job + ": " + why(last),
	}
}

// whyOf is the error or reason of an entry in one line.
func whyOf(e ledger.Entry) string {
	return cmp.Or(view.Why(e.Reason.String(), firstLine(e.Error)), string(e.Outcome))
}

// interruptedBy says whose attempt at the entry's tick was interrupted, and what became of it.
func interruptedBy(e ledger.Entry) string {
	return "an attempt on " + e.InterruptedOn + " was interrupted; attempt " + strconv.Itoa(e.Attempt) + " on " + e.Replica + ": " + markOf(e.Outcome).Word
}

// lackingLine names the jobs of which less than 24 hours are known.
func (all *glance) lackingLine() line {
	var dropped, unread []string
	for _, p := range all.problems {
		switch text := p.Job + " since " + all.clock(p.Since); {
		case p.Unread:
			unread = append(unread, text)
		case !p.Since.IsZero():
			dropped = append(dropped, text)
		}
	}
	l := line{Level: view.Calm, Path: all.To("/ticks")}
	switch {
	case len(unread) > 0:
		l.Text = "Not all of the last 24 h is counted yet: " + view.And(unread) + "."
		l.More = "Each view of this page reads on."
	case len(dropped) > 0:
		l.Text = "The ledger keeps less than 24 h of " + view.And(dropped) + "."
		l.More = "Earlier failed and missed ticks are not counted. history.keep and history.max_age of a job bound what is kept, at most 1000 runs."
	}
	if l.Text == "" {
		return line{}
	}
	return l
}

// writer names the run that wrote with a stale token. If there were several attempts, the
// run's page says which one.
func writer(e ledger.Entry) string {
	if e.Attempt > 1 {
		return fmt.Sprintf("one of %d attempts of this run", e.Attempt)
	}
	return fmt.Sprintf("the run with token %d", e.Token)
}

func (all *glance) pauseLine() line {
	if all.open.unknown != "" {
		return line{Level: view.Warn, Text: all.open.unknown + ".", Path: all.To("/nodes")}
	}
	var names []string
	for _, p := range all.open.Pauses {
		names = append(names, p.Target())
	}
	if len(names) == 0 {
		return line{}
	}
	first := all.open.Pauses[0]
	return line{
		Level: view.Warn, Text: "Paused: " + view.And(names) + ".", Path: all.To("/jobs"),
		More: first.By + " " + ago(first.At.Sub(all.Now)) + ": " + first.Reason,
	}
}

func (all *glance) runningLine() line {
	list := all.with(ledger.Running)
	if len(list) == 0 {
		return line{Level: view.Calm, Text: "Nothing is running."}
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Job+" (replica "+e.Replica+")")
	}
	return line{Level: view.Calm, Text: fmt.Sprintf("%d running: %s.", len(list), view.And(names)), Path: all.filtered("/ticks", "outcome=running")}
}

func (all *glance) nextLine() line {
	switch {
	case !all.Stale.IsZero(): // none starts before the nodes answer again
		return line{}
	case len(all.next.Items) == 0:
		return lineOf(view.NoTickPlanned(), all.To("/jobs"))
	}
	n := all.next.Items[0]
	if i := slices.IndexFunc(all.next.Items, func(n view.Next) bool { return n.Paused == nil }); i >= 0 {
		n = all.next.Items[i]
	}
	at := view.Time(cmp.Or(n.Start, &n.Tick))
	text := "Next: " + n.Job + " "
	if view.MarginOf(all.nodes).Stopped {
		text = "Next, if ticks can start by then: " + n.Job + " "
	}
	if n.Paused != nil {
		text = "All next ticks are paused: " + n.Job + " skips its tick "
	}
	return line{Level: view.Calm, Text: text + ago(at.Sub(all.Now)) + ", at " + all.clock(at) + ".", Path: all.To("/jobs", n.Job)}
}

// with returns the entries with one of the outcomes.
func (all *glance) with(outcomes ...ledger.Outcome) []ledger.Entry {
	var list []ledger.Entry
	for _, e := range all.entries {
		if slices.Contains(outcomes, e.Outcome) {
			list = append(list, e)
		}
	}
	return list
}

// countedSince is when the counted ticks begin.
func (all *glance) countedSince() string {
	if all.cut {
		return all.clock(all.since)
	}
	return all.minute(all.since)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
