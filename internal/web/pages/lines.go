package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A line is one statement about the cluster.
type line struct {
	Level listing.Level
	Text  string
	Path  string // a page with details
	More  string // small print
}

// Shape shows the level without colour.
func (l line) Shape() string {
	return map[listing.Level]string{listing.Good: "✓", listing.Calm: "·", listing.Warn: "!", listing.Bad: "✕"}[l.Level]
}

// lineOf is a sentence with a link to details.
func lineOf(s listing.Sentence, path string) line { return line{s.Level, s.Text, path, s.More} }

// words describes the cluster, the most important first.
func (all *view) words() []line {
	lines := append([]line{quorumLine(all.visit, all.nodes)}, all.warningLines()...)
	if all.unknown != nil {
		why := "no quorum of nodes answers"
		switch {
		case listing.Quorate(all.nodes) == nil && all.OneStore():
			why = "it could not be read, although the store answers"
		case listing.Quorate(all.nodes) == nil:
			why = "it could not be read, although the nodes answer"
		case all.OneStore():
			why = "the store does not answer"
		}
		return append(lines, line{listing.Bad, "The state of the replicas is unknown: " + why + ".", all.To("/nodes"), all.unknown.Error()})
	}
	var latest []listing.Tick
	for _, e := range all.entries {
		latest = append(latest, listing.NewTick(e))
	}
	lines = append(lines, all.replicaLine(latest),
		lineOf(listing.TickHealth(latest, all.cut, all.countedSince()), all.To("/ticks")),
		all.problemLine(listing.Bad, "Failed", listing.ProblemFailed, whyOf),
		all.problemLine(listing.Warn, "Missed", listing.ProblemMissed, whyOf),
		all.problemLine(listing.Warn, "Interrupted and run again", listing.ProblemInterrupted, interruptedBy),
		all.problemLine(listing.Warn, "A guard refused stale writes", listing.ProblemStale, writer),
		all.pauseLine(), all.runningLine(), all.lackingLine(), all.nextLine())
	return slices.DeleteFunc(lines, func(l line) bool { return l.Text == "" })
}

// warningLines are the problems of the replica that serves the page.
func (all *view) warningLines() []line {
	if all.Warnings == nil {
		return nil
	}
	var lines []line
	for _, text := range all.Warnings() {
		lines = append(lines, line{Level: listing.Warn, Text: text})
	}
	return lines
}

// quorumLine says how many more nodes may fail.
func quorumLine(v *visit, nodes []listing.Node) line {
	return lineOf(listing.MarginOf(nodes).Sentence, v.To("/nodes"))
}

// replicaLine describes the replicas, and the ones that are gone.
func (all *view) replicaLine(latest []listing.Tick) line {
	s, drift := listing.ReplicaHealth(all.replicas.Items, latest, all.asOf())
	if !all.Stale.IsZero() {
		return line{listing.Calm, "At " + all.clock(all.Stale) + ": " + s.Text, all.To("/replicas"), s.More}
	}
	if drift {
		return lineOf(s, all.To("/configuration"))
	}
	return lineOf(s, all.To("/replicas"))
}

// problemLine names the jobs with a problem in the last 24 hours, the latest first.
func (all *view) problemLine(level listing.Level, name string, kind listing.Problem, why func(ledger.Entry) string) line {
	list := listing.WithProblem(all.problems, kind)
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
		Level: level, Text: name + " in the last 24 h: " + listing.And(names) + ".", Path: all.runPath(last),
		More: "Last " + ago(last.OrderKey().Sub(all.Now)) + ", " + last.Job + ": " + why(last),
	}
}

// whyOf is the error or reason of an entry in one line.
func whyOf(e ledger.Entry) string {
	return cmp.Or(listing.Why(e.Reason.String(), firstLine(e.Error)), string(e.Outcome))
}

// interruptedBy says whose attempt at the entry's tick was interrupted, and what became of it.
func interruptedBy(e ledger.Entry) string {
	return "an attempt on " + e.InterruptedOn + " was interrupted; attempt " + strconv.Itoa(e.Attempt) + " on " + e.Replica + ": " + markOf(e.Outcome).Word
}

// lackingLine names the jobs of which less than 24 hours are known.
func (all *view) lackingLine() line {
	var dropped, unread []string
	for _, p := range all.problems {
		switch text := p.Job + " since " + all.clock(p.Since); {
		case p.Unread:
			unread = append(unread, text)
		case !p.Since.IsZero():
			dropped = append(dropped, text)
		}
	}
	l := line{Level: listing.Calm, Path: all.To("/ticks")}
	switch {
	case len(unread) > 0:
		l.Text = "Not all of the last 24 h is counted yet: " + listing.And(unread) + "."
		l.More = "Each view of this page reads on."
	case len(dropped) > 0:
		l.Text = "The ledger keeps less than 24 h of " + listing.And(dropped) + "."
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

func (all *view) pauseLine() line {
	if all.open.unknown != "" {
		return line{Level: listing.Warn, Text: all.open.unknown + ".", Path: all.To("/nodes")}
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
		Level: listing.Warn, Text: "Paused: " + listing.And(names) + ".", Path: all.To("/jobs"),
		More: first.By + " " + ago(first.At.Sub(all.Now)) + ": " + first.Reason,
	}
}

func (all *view) runningLine() line {
	list := all.with(ledger.Running)
	if len(list) == 0 {
		return line{Level: listing.Calm, Text: "Nothing is running."}
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Job+" (replica "+e.Replica+")")
	}
	return line{Level: listing.Calm, Text: fmt.Sprintf("%d running: %s.", len(list), listing.And(names)), Path: all.filtered("/ticks", "outcome=running")}
}

func (all *view) nextLine() line {
	switch {
	case !all.Stale.IsZero(): // none starts before the nodes answer again
		return line{}
	case len(all.next.Items) == 0:
		return lineOf(listing.NoTickPlanned(), all.To("/jobs"))
	}
	n := all.next.Items[0]
	if i := slices.IndexFunc(all.next.Items, func(n listing.Next) bool { return n.Paused == nil }); i >= 0 {
		n = all.next.Items[i]
	}
	at := listing.Time(cmp.Or(n.Start, &n.Tick))
	text := "Next: " + n.Job + " "
	if listing.MarginOf(all.nodes).Stopped {
		text = "Next, if ticks can start by then: " + n.Job + " "
	}
	if n.Paused != nil {
		text = "All next ticks are paused: " + n.Job + " skips its tick "
	}
	return line{Level: listing.Calm, Text: text + ago(at.Sub(all.Now)) + ", at " + all.clock(at) + ".", Path: all.To("/jobs", n.Job)}
}

// with returns the entries with one of the outcomes.
func (all *view) with(outcomes ...ledger.Outcome) []ledger.Entry {
	var list []ledger.Entry
	for _, e := range all.entries {
		if slices.Contains(outcomes, e.Outcome) {
			list = append(list, e)
		}
	}
	return list
}

// countedSince is when the counted ticks begin.
func (all *view) countedSince() string {
	if all.cut {
		return all.clock(all.since)
	}
	return all.minute(all.since)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
