package pages

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
		if all.OneStore() {
			why = "the store does not answer"
		}
		return append(lines, line{listing.Bad, "The state of the replicas is unknown: " + why + ".", all.To("/nodes"), all.unknown.Error()})
	}
	latest := make([]listing.Tick, len(all.entries))
	for i, e := range all.entries {
		latest[i] = listing.NewTick(e)
	}
	lines = append(lines, all.replicaLine(latest),
		lineOf(listing.TickHealth(latest, all.cut, all.countedSince()), all.To("/ticks")),
		all.endedLine(listing.Bad, "Failed", listing.FailedOutcomes()...),
		all.endedLine(listing.Warn, "Missed", ledger.Missed),
		all.staleLine(), all.pauseLine(), all.runningLine(), all.earlierLine(), all.nextLine())
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
	if drift {
		return lineOf(s, all.To("/configuration"))
	}
	return lineOf(s, all.To("/replicas"))
}

// endedLine names the jobs with one of the outcomes, the latest first.
func (all *view) endedLine(level listing.Level, name string, outcomes ...ledger.Outcome) line {
	list := all.with(outcomes...)
	if len(list) == 0 {
		return line{}
	}
	counts, order := map[string]int{}, []string{}
	for _, e := range list {
		if counts[e.Job]++; counts[e.Job] == 1 {
			order = append(order, e.Job)
		}
	}
	for i, job := range order {
		if counts[job] > 1 {
			order[i] += fmt.Sprintf(" (%d times)", counts[job])
		}
	}
	last := list[0]
	why := cmp.Or(firstLine(last.Error), last.Reason.String(), string(last.Outcome))
	return line{
		Level: level, Text: name + ": " + listing.And(order) + ".", Path: all.runPath(last),
		More: "Last " + ago(last.OrderKey().Sub(all.Now)) + ", " + last.Job + ": " + why,
	}
}

// staleLine counts the writes that guards refused.
func (all *view) staleLine() line {
	n, last := 0, ledger.Entry{}
	for _, e := range all.entries {
		if n += e.StaleWrites; e.StaleWrites > 0 && last.Job == "" {
			last = e
		}
	}
	if n == 0 {
		return line{}
	}
	return line{
		Level: listing.Warn, Text: "A guard refused " + listing.Count(n, "stale write", "stale writes") + ".",
		Path: all.runPath(last), More: "Last by " + writer(last) + ".",
	}
}

// writer names the run that wrote with a stale token. If there were several attempts, the
// run's page says which one.
func writer(e ledger.Entry) string {
	if e.Attempt > 1 {
		return fmt.Sprintf("one of %[2]d attempts of a run of %[1]s", e.Job, e.Attempt)
	}
	return fmt.Sprintf("a run of %s with token %d", e.Job, e.Token)
}

func (all *view) pauseLine() line {
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
	case len(all.next.Items) == 0 && !all.Stale.IsZero(): // the known ones have passed
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

// earlierLine says that there are more ticks than were read, and links to the earlier
// failed and missed ones.
func (all *view) earlierLine() line {
	if !all.cut {
		return line{}
	}
	query := url.Values{"cursor": {all.earlier.String()}, "since": {all.asked.UTC().Format(time.RFC3339)}}
	for _, outcome := range append(listing.FailedOutcomes(), ledger.Missed) {
		query.Add("outcome", string(outcome))
	}
	return line{
		Level: listing.Calm, Text: "Ticks before " + all.clock(all.since) + " are not counted.",
		Path: all.filtered("/ticks", query.Encode()), More: "The overview reads " + strconv.Itoa(overviewTicks) + " ticks at most. Show the earlier failed and missed ticks of this range.",
	}
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
