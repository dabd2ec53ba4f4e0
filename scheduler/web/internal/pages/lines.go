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
func (all view) words(v *visit) []line {
	lines := append(quorumLines(v, all.nodes), v.warningLines()...)
	if all.unknown != nil {
		lines = append(lines, line{listing.Bad, "The state of the replicas is unknown: no quorum of nodes answers.", v.To("/nodes"), all.unknown.Error()})
		return lines
	}
	latest := make([]listing.Tick, len(all.entries))
	for i, e := range all.entries {
		latest[i] = listing.NewTick(e)
	}
	lines = append(lines, all.replicaLine(v, latest))
	lines = append(lines, lineOf(listing.TickHealth(latest, all.cut, all.countedSince(v)), v.To("/ticks")))
	lines = append(lines, all.endedLine(v, listing.Bad, "Failed", listing.FailedOutcomes()...))
	lines = append(lines, all.endedLine(v, listing.Warn, "Missed", ledger.Missed))
	lines = append(lines, all.staleLine(v))
	lines = append(lines, all.pauseLine(v))
	lines = append(lines, all.runningLine(v))
	lines = append(lines, all.earlierLine(v))
	lines = append(lines, all.nextLine(v))
	return slices.DeleteFunc(lines, func(l line) bool { return l.Text == "" })
}

// warningLines are the problems of the replica that serves the page.
func (v *visit) warningLines() []line {
	if v.cfg.Warnings == nil {
		return nil
	}
	var lines []line
	for _, text := range v.cfg.Warnings() {
		lines = append(lines, line{Level: listing.Warn, Text: text})
	}
	return lines
}

// quorumLines say how many more nodes of each group may fail.
func quorumLines(v *visit, nodes []listing.Node) []line {
	var lines []line
	for _, m := range listing.Margins(nodes) {
		lines = append(lines, lineOf(m.Sentence, v.To("/nodes")))
	}
	return lines
}

// replicaLine describes the replicas, and the ones that are gone.
func (all view) replicaLine(v *visit, latest []listing.Tick) line {
	s, drift := listing.ReplicaHealth(all.replicas.Items, latest, v.asOf())
	if drift {
		return lineOf(s, v.To("/configuration"))
	}
	return lineOf(s, v.To("/replicas"))
}

// endedLine names the jobs with one of the outcomes, the latest first.
func (all view) endedLine(v *visit, level listing.Level, name string, outcomes ...ledger.Outcome) line {
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
		Level: level, Text: name + ": " + listing.And(order) + ".", Path: v.runPath(last),
		More: "Last " + ago(last.OrderKey().Sub(v.Now)) + ", " + last.Job + ": " + why,
	}
}

// staleLine counts the writes that guards refused.
func (all view) staleLine(v *visit) line {
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
		Path: v.runPath(last), More: "Last by " + writer(last) + ".",
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

func (all view) pauseLine(v *visit) line {
	var names []string
	for _, p := range all.open.Pauses {
		names = append(names, p.Target())
	}
	if len(names) == 0 {
		return line{}
	}
	first := all.open.Pauses[0]
	return line{
		Level: listing.Warn, Text: "Paused: " + listing.And(names) + ".", Path: v.To("/jobs"),
		More: first.By + " " + ago(first.At.Sub(v.Now)) + ": " + first.Reason,
	}
}

func (all view) runningLine(v *visit) line {
	list := all.with(ledger.Running)
	if len(list) == 0 {
		return line{Level: listing.Calm, Text: "Nothing is running."}
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Job+" (replica "+e.Replica+")")
	}
	return line{Level: listing.Calm, Text: fmt.Sprintf("%d running: %s.", len(list), listing.And(names)), Path: v.To("/ticks") + join(v.To("/ticks"), "outcome=running")}
}

func (all view) nextLine(v *visit) line {
	switch {
	case len(all.next.Items) == 0 && !v.stale.IsZero(): // the known ones have passed
		return line{}
	case len(all.next.Items) == 0:
		return lineOf(listing.NoTickPlanned(), v.To("/jobs"))
	}
	n := all.next.Items[0]
	if i := slices.IndexFunc(all.next.Items, func(n listing.Next) bool { return n.Paused == nil }); i >= 0 {
		n = all.next.Items[i]
	}
	at := listing.Time(cmp.Or(n.Start, &n.Tick))
	if n.Paused != nil {
		return line{Level: listing.Calm, Text: "All next ticks are paused: " + n.Job + " skips its tick " + ago(at.Sub(v.Now)) + ", at " + v.clock(at.In(v.zone)) + ".", Path: v.To("/jobs", n.Job)}
	}
	return line{Level: listing.Calm, Text: "Next: " + n.Job + " " + ago(at.Sub(v.Now)) + ", at " + v.clock(at.In(v.zone)) + ".", Path: v.To("/jobs", n.Job)}
}

// with returns the entries with one of the outcomes.
func (all view) with(outcomes ...ledger.Outcome) []ledger.Entry {
	var list []ledger.Entry
	for _, e := range all.entries {
		if slices.Contains(outcomes, e.Outcome) {
			list = append(list, e)
		}
	}
	return list
}

// countedSince is when the counted ticks begin.
func (all view) countedSince(v *visit) string {
	if all.cut {
		return v.clock(all.since.In(v.zone))
	}
	return v.since(all.since)
}

// earlierLine says that there are more ticks than were read, and links to the earlier
// failed and missed ones.
func (all view) earlierLine(v *visit) line {
	if !all.cut {
		return line{}
	}
	query := url.Values{"cursor": {all.earlier.String()}, "since": {all.asked.UTC().Format(time.RFC3339)}}
	for _, outcome := range append(listing.FailedOutcomes(), ledger.Missed) {
		query.Add("outcome", string(outcome))
	}
	return line{
		Level: listing.Calm, Text: "Ticks before " + v.clock(all.since.In(v.zone)) + " are not counted.",
		Path: v.To("/ticks") + join(v.To("/ticks"), query.Encode()), More: "The overview reads " + strconv.Itoa(overviewTicks) + " ticks at most. Show the earlier failed and missed ticks of this range.",
	}
}

// since formats a time to the minute.
func (v *visit) since(t time.Time) string {
	in, now := t.In(v.zone), v.Now.In(v.zone)
	if in.YearDay() == now.YearDay() {
		return in.Format("15:04")
	}
	return in.Format("2 Jan 15:04")
}

func (v *visit) runPath(e ledger.Entry) string {
	if e.Job == "" {
		return ""
	}
	return v.To("/runs", e.ID())
}

// join returns a query part with the separator that the path needs.
func join(path, part string) string {
	if strings.Contains(path, "?") {
		return "&" + part
	}
	return "?" + part
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
