package listing

import (
	"fmt"
	"strings"
)

// A Margin says how many more nodes may fail before no tick can start.
type Margin struct {
	Sentence
	Brief string // Text without the names of nodes that do not vote
}

// MarginOf returns the margin of the nodes.
func MarginOf(nodes []Node) Margin {
	voting, slow, away := 0, 0, []string{}
	for _, n := range nodes {
		if n.State == NodeVoting {
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
	var m Margin
	switch spare := voting - needed; {
	case spare < 0 && spare+slow >= 0:
		m.Level = Warn
		m.Text = fmt.Sprintf("%s: some are slow to answer. No tick can start until %d answer in time.", text, needed)
		m.More = "They answered a moment ago, so they, this machine or the network may only be busy. Look again shortly."
	case spare < 0:
		m.Level = Bad
		m.Text = fmt.Sprintf("%s: no quorum. No tick can start until %d of them vote.", text, needed)
		m.More = "Start the nodes that are down. A restarted node votes again after its grace. Until then running jobs lose their leases."
	case spare == 0 && len(nodes) == 1:
		m.Level, m.Text = Calm, text+"; it is the only one: no tick starts while it is down."
	case spare == 0:
		m.Level, m.Text = Warn, text+"; one more loss and no tick can start."
	case spare == 1:
		m.Level, m.Text = Good, text+"; one more loss is fine."
	default:
		m.Level, m.Text = Good, fmt.Sprintf("%s; %d losses are fine.", text, spare)
	}
	if len(away) > 0 && m.Level == Good {
		m.Level = Warn
	}
	m.Brief = strings.Replace(m.Text, " ("+And(away)+")", "", 1)
	return m
}
