package listing

import (
	"fmt"
	"slices"
	"strings"
)

// A Margin says how many more nodes of a group may be lost before no tick can start.
type Margin struct {
	Cell  string // "" if there is one group of nodes
	Level string // calm, good, warn, bad
	Text  string // in one sentence
	Brief string // the same without the names of the nodes that do not vote
	Slow  bool   // there would be a quorum if nodes that answered lately were not slow
}

// Margins says it of each group, those of cells in the order of the nodes.
func Margins(nodes []Node) []Margin {
	var all []Margin
	for len(nodes) > 0 {
		n := slices.IndexFunc(nodes, func(o Node) bool { return Text(o.Cell) != Text(nodes[0].Cell) })
		if n < 0 {
			n = len(nodes)
		}
		all = append(all, margin(nodes[:n]))
		nodes = nodes[n:]
	}
	return all
}

func margin(nodes []Node) Margin {
	voting, slow, away := 0, 0, []string{}
	for _, n := range nodes {
		if n.State == "voting" {
			voting++
			continue
		}
		if n.State == NodeSlow {
			slow++
		}
		away = append(away, n.Node+" is "+n.State)
	}
	needed := len(nodes)/2 + 1
	text := fmt.Sprintf("%d of %s vote", voting, Count(len(nodes), "node", "nodes"))
	if voting == 1 {
		text += "s"
	}
	if len(away) > 0 {
		text += " (" + And(away) + ")"
	}
	m, tick := Margin{Cell: Text(nodes[0].Cell)}, "tick"
	if m.Cell != "" {
		tick = "tick of its jobs"
		text = "Cell " + m.Cell + ": " + text
	}
	switch spare := voting - needed; {
	case spare < 0 && spare+slow >= 0:
		m.Level, m.Slow = "warn", true
		m.Text = fmt.Sprintf("%s: some are slow to answer. Until %d answer in time, no %s can start.", text, needed, tick)
	case spare < 0:
		m.Level, m.Text = "bad", fmt.Sprintf("%s: no quorum. No %s can start until %d of them vote.", text, tick, needed)
	case spare == 0 && len(nodes) == 1:
		m.Level, m.Text = "calm", text+"; there is no other, so nothing starts while it is away."
	case spare == 0:
		m.Level, m.Text = "warn", text+"; one more loss and no "+tick+" can start."
	case spare == 1:
		m.Level, m.Text = "good", text+"; one more loss is fine."
	default:
		m.Level, m.Text = "good", fmt.Sprintf("%s; %d losses are fine.", text, spare)
	}
	if len(away) > 0 && m.Level == "good" {
		m.Level = "warn"
	}
	m.Brief = strings.Replace(m.Text, " ("+And(away)+")", "", 1)
	return m
}
