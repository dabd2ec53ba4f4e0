package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A line says one thing about the cluster.
type line struct {
	Level string // good, calm, warn, bad
	Text  string
	Path  string // where there is more
	More  string // a second thought, smaller
}

func (l line) weight() int { return slices.Index([]string{"calm", "good", "warn", "bad"}, l.Level) }

// Shape shows the level without colour.
func (l line) Shape() string {
	return map[string]string{"good": "✓", "calm": "·", "warn": "!", "bad": "✕"}[l.Level]
}

// words says how the cluster is, the most important first.
func (all view) words(v *visit) []line {
	lines := append(quorumLines(v, all.nodes), v.warningLines()...)
	if all.unknown != nil {
		lines = append(lines, line{"bad", "What the replicas do is not known: no quorum of the nodes answers.", v.To("/nodes"), all.unknown.Error()})
		return lines
	}
	lines = append(lines, all.replicaLine(v))
	lines = append(lines, all.failedLines(v)...)
	lines = append(lines, all.tickLine(v, scheduler.Missed, "warn", "was missed", "were missed"))
	lines = append(lines, all.staleLine(v))
	lines = append(lines, all.pauseLine(v))
	lines = append(lines, all.runningLine(v))
	lines = append(lines, all.tickLine(v, scheduler.Skipped, "calm", "was skipped", "were skipped"))
	lines = append(lines, all.earlierLine(v))
	lines = append(lines, all.nextLine(v))
	return slices.DeleteFunc(lines, func(l line) bool { return l.Text == "" })
}

// warningLines tell what is wrong with the replica that answers.
func (v *visit) warningLines() []line {
	if v.cfg.Warnings == nil {
		return nil
	}
	var lines []line
	for _, text := range v.cfg.Warnings() {
		lines = append(lines, line{Level: "warn", Text: text})
	}
	return lines
}

// quorumLines say for each group of nodes how many more may fail.
func quorumLines(v *visit, nodes []listing.Node) []line {
	var lines []line
	for _, m := range listing.Margins(nodes) {
		l := line{Level: m.Level, Text: m.Text, Path: v.To("/nodes")}
		if m.Level == "bad" {
			l.More = "Start those that are down. One that was restarted votes again after its grace. Until then runs that go on lose their leases."
		}
		if m.Slow {
			l.More = "They answered lately, so this machine, theirs or the network between may merely be busy. Look again in a moment."
		}
		lines = append(lines, l)
	}
	return lines
}

// failedLines name the jobs that failed, the latest first.
func (all view) failedLines(v *visit) []line {
	bad := all.with(unwell()...)
	if len(bad) == 0 {
		ran := all.with(scheduler.Succeeded)
		if len(ran) == 0 {
			return []line{{Level: "calm", Text: "No run has ended " + all.counted(v) + ".", Path: v.To("/ticks")}}
		}
		return []line{{Level: "good", Text: listing.Count(len(ran), "run", "runs") + " " + all.counted(v) + ", none failed.", Path: v.To("/ticks")}}
	}
	counts, order := map[string]int{}, []string{}
	for _, e := range bad {
		if counts[e.Job]++; counts[e.Job] == 1 {
			order = append(order, e.Job)
		}
	}
	var names []string
	for _, job := range order {
		name := job
		if counts[job] > 1 {
			name += fmt.Sprintf(" (%d times)", counts[job])
		}
		names = append(names, name)
	}
	last := bad[0]
	why := cmp.Or(firstLine(last.Error), last.Reason.String(), string(last.Outcome))
	return []line{{
		Level: "bad", Text: fmt.Sprintf("%s failed %s: %s.", listing.Count(len(order), "job", "jobs"), all.counted(v), listing.And(names)),
		Path: v.runPath(last), More: "Last " + ago(last.OrderKey().Sub(v.Now)) + ", " + last.Job + ": " + why,
	}}
}

// tickLine counts the ticks that did not run.
func (all view) tickLine(v *visit, outcome scheduler.Outcome, level, one, many string) line {
	list := all.with(outcome)
	if len(list) == 0 {
		return line{}
	}
	verb := many
	if len(list) == 1 {
		verb = one
	}
	return line{
		Level: level, Text: fmt.Sprintf("%s %s %s.", listing.Count(len(list), "tick", "ticks"), verb, all.counted(v)),
		Path: v.To("/ticks") + join(v.To("/ticks"), "outcome="+string(outcome)), More: "Last of " + list[0].Job + ": " + list[0].Reason.String(),
	}
}

// staleLine tells of writes that guards refused.
func (all view) staleLine(v *visit) line {
	n, last := 0, scheduler.Entry{}
	for _, e := range all.entries {
		if n += e.StaleWrites; e.StaleWrites > 0 && last.Job == "" {
			last = e
		}
	}
	if n == 0 {
		return line{}
	}
	verb := "were"
	if n == 1 {
		verb = "was"
	}
	return line{
		Level: "warn", Text: fmt.Sprintf("%s %s refused %s: a guard did its work.", listing.Count(n, "stale write", "stale writes"), verb, all.counted(v)),
		Path: v.runPath(last), More: "Last by " + writer(last) + ".",
	}
}

// writer names the run that wrote with a stale token. Of several attempts nobody says
// here which one it was: their page does.
func writer(e scheduler.Entry) string {
	if e.Attempt > 1 {
		return fmt.Sprintf("a run of %s, of which there were %d attempts", e.Job, e.Attempt)
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
		Level: "warn", Text: "Paused: " + listing.And(names) + ".", Path: v.To("/jobs"),
		More: first.By + " " + ago(first.At.Sub(v.Now)) + ": " + first.Reason,
	}
}

func (all view) runningLine(v *visit) line {
	list := all.with(scheduler.Running)
	if len(list) == 0 {
		return line{Level: "calm", Text: "No run goes on."}
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Job+" on "+e.Replica)
	}
	verb := "runs go on"
	if len(list) == 1 {
		verb = "run goes on"
	}
	return line{Level: "calm", Text: fmt.Sprintf("%d %s: %s.", len(list), verb, listing.And(names)), Path: v.To("/ticks") + join(v.To("/ticks"), "outcome=running")}
}

func (all view) nextLine(v *visit) line {
	switch {
	case len(all.next.Items) == 0 && !v.stale.IsZero(): // those that were known are over
		return line{}
	case len(all.next.Items) == 0:
		return line{Level: "calm", Text: "No tick is to come: no job is served, or none ticks again.", Path: v.To("/jobs")}
	}
	n := all.next.Items[0]
	if i := slices.IndexFunc(all.next.Items, func(n listing.Next) bool { return n.Paused == nil }); i >= 0 {
		n = all.next.Items[i]
	}
	at := listing.Time(cmp.Or(n.Start, &n.Tick))
	if n.Paused != nil {
		return line{Level: "calm", Text: "All that comes next is paused: " + n.Job + " skips its tick " + ago(at.Sub(v.Now)) + ", at " + v.clock(at.In(v.zone)) + ".", Path: v.To("/jobs", n.Job)}
	}
	return line{Level: "calm", Text: "Next: " + n.Job + " " + ago(at.Sub(v.Now)) + ", at " + v.clock(at.In(v.zone)) + ".", Path: v.To("/jobs", n.Job)}
}

// with returns the entries with one of the outcomes.
func (all view) with(outcomes ...scheduler.Outcome) []scheduler.Entry {
	var list []scheduler.Entry
	for _, e := range all.entries {
		if slices.Contains(outcomes, e.Outcome) {
			list = append(list, e)
		}
	}
	return list
}

// counted says which ticks are counted.
func (all view) counted(v *visit) string {
	if all.cut {
		return fmt.Sprintf("in the latest %d ticks, since %s", len(all.entries), v.clock(all.since.In(v.zone)))
	}
	return "since " + v.since(all.since)
}

// earlierLine says that there were more ticks than are counted, and leads to those
// among them that did not go well.
func (all view) earlierLine(v *visit) line {
	if !all.cut {
		return line{}
	}
	query := url.Values{"cursor": {all.earlier.String()}, "since": {all.asked.UTC().Format(time.RFC3339)}}
	for _, outcome := range append(unwell(), scheduler.Missed) {
		query.Add("outcome", string(outcome))
	}
	return line{
		Level: "calm", Text: "What came before " + v.clock(all.since.In(v.zone)) + " is not counted here.",
		Path: v.To("/ticks") + join(v.To("/ticks"), query.Encode()), More: "More than that are not read at once. Of the range shown, what failed or was missed before stands there.",
	}
}

// unwell are the outcomes of runs that did not go as they should have.
func unwell() []scheduler.Outcome {
	return []scheduler.Outcome{scheduler.Failed, scheduler.TimedOut, scheduler.LeaseLost, scheduler.Interrupted}
}

// since is when something began, to the minute.
func (v *visit) since(t time.Time) string {
	in, now := t.In(v.zone), v.Now.In(v.zone)
	if in.YearDay() == now.YearDay() {
		return in.Format("15:04")
	}
	return in.Format("2 Jan 15:04")
}

func (v *visit) runPath(e scheduler.Entry) string {
	if e.Job == "" {
		return ""
	}
	return v.To("/runs", e.ID())
}

// join is how a part of a query goes behind a path.
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
