package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
)

// pageLines are the lines of the page, of which the frame shows those that fit.
func (d snapshot) pageLines(v layout) []textLine {
	r := v.page.row
	lines := paragraph(r.about.name, v.width, bold)
	switch r.about.kind {
	case aJob:
		if v.page.job == nil {
			return append(lines, textLine{{"Reading the job …", faint}})
		}
		return append(lines, v.page.job.lines(v)...)
	case aReplica:
		for _, one := range d.replicas {
			if one.ID == r.about.name && instance(one) == r.detail {
				return append(lines, replicaLines(one, v, d.asOf(v.now))...)
			}
		}
	case aNode:
		for _, one := range d.nodes {
			if one.Node == r.about.name {
				return append(lines, nodeLines(one, v)...)
			}
		}
	}
	return append(lines, textLine{{"It is no longer listed.", plain}})
}

func replicaLines(r view.Replica, v layout, asOf time.Time) []textLine {
	level := r.Level(asOf)
	text := "It takes ticks."
	if level != view.Good {
		text = "It " + r.Problem() + "."
	}
	if quiet := r.Silence(asOf); quiet > 0 {
		text = "It has not reported for " + output.Rough(quiet) + "."
	}
	lines := wrappedSentence(level, text, v.width)
	if r.Shared {
		lines = append(lines, wrappedSentence(view.Warn, "Another live process has the same name.", v.width)...)
	}
	if len(r.Strangers) > 0 {
		lines = append(lines, wrappedSentence(view.Warn, "Other live replicas define these jobs in another way: "+view.And(r.Strangers)+".", v.width)...)
	}
	facts := []view.Fact{
		{Name: "Runs", Text: cmp.Or(strings.Join(r.Running, ", "), "nothing now")},
		{Name: "Process", Text: fmt.Sprintf("%d on %s", r.PID, r.Host)},
		{Name: "Program", Text: view.Text(r.Program)},
		{Name: "Version", Text: r.Version},
		{Name: "Started", Text: clockAt(view.Time(r.Started), v.now) + ", " + output.Rough(v.now.Sub(view.Time(r.Started))) + " ago"},
		{Name: "Last report", Text: output.Rough(v.now.Sub(view.Time(r.Seen))) + " ago"},
		{Name: "Jobs", Text: count(r.Jobs)},
		{Name: "Claims since its start", Text: count(r.Won)},
		{Name: "Clock", Text: r.Clock()},
		{Name: "Configuration", Text: view.Text(r.ConfigHash)},
		{Name: "Labels", Text: labels(r.Labels)},
	}
	return append(lines, factLines(facts, v.width)...)
}

func nodeLines(n view.Node, v layout) []textLine {
	lines := wrappedSentence(n.Level(), view.Join(": ", n.State, output.NodeNotes(n)), v.width)
	facts := []view.Fact{
		{Name: "Address", Text: n.URL},
		{Name: "Version", Text: view.Text(n.Version)},
		{Name: "Role", Text: view.Text(n.Role)},
		{Name: "Request takes", Text: strings.Trim(output.Millis(n.RTTMillis), "-")},
		{Name: "Clock", Text: strings.TrimPrefix(clockOffset(n), "clock ")},
		{Name: "Remembers claims since", Text: view.Text(n.Since)},
		{Name: "Votes on all ticks at", Text: view.Text(n.VouchesAt)},
		{Name: "Persistence", Text: view.Text(n.Persistence)},
		{Name: "Eviction", Text: view.Text(n.Eviction)},
		{Name: "Nodes of its list", Text: strings.Join(n.Members, ", ")},
	}
	return append(lines, factLines(facts, v.width)...)
}

// count writes a number that may be unknown.
func count[N int | int64](n *N) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func labels(of map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, name+"="+of[name])
	}
	return strings.Join(list, ", ")
}

// wrappedSentence is a sentence in as many lines as it needs.
func wrappedSentence(l view.Level, text string, width int) []textLine {
	const indent = 2
	var lines []textLine
	for i, line := range wrapped(text, width-indent) {
		one := sentence(l, line)
		if i > 0 {
			one[0].text = " "
		}
		lines = append(lines, one)
	}
	return lines
}

// factLines are names with their texts beside them, without those that are empty.
func factLines(facts []view.Fact, width int) (lines []textLine) {
	facts = slices.DeleteFunc(facts, func(f view.Fact) bool { return f.Text == "" })
	widest := 0
	for _, f := range facts {
		widest = max(widest, utf8.RuneCountInString(f.Name))
	}
	widest = min(widest, width/2)
	for _, f := range facts {
		name := output.Clip(f.Name, max(1, widest))
		for _, text := range wrapped(f.Text, width-widest-output.Gap) {
			pad := strings.Repeat(" ", max(0, widest+output.Gap-utf8.RuneCountInString(name)))
			lines = append(lines, textLine{{name + pad, faint}, {text, plain}})
			name = ""
		}
	}
	return lines
}
