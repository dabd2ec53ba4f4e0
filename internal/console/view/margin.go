package view

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Margin says how many more nodes may fail before no tick can start, or how the only store
// is.
type Margin struct {
	Sentence
	Brief   string // Text without the names of nodes that do not vote
	Stopped bool   // no tick can start
}

// MarginOf returns the margin of the nodes.
func MarginOf(nodes []Node) Margin {
	if len(nodes) == 1 && nodes[0].Kind == KindStore {
		s := storeSentence(nodes[0])
		return Margin{s, s.Text, nodes[0].State != NodeReady}
	}
	voting, slow, away, waiting := tally(nodes)
	needed := len(nodes)/2 + 1
	text := fmt.Sprintf("%d of %s vote", voting, Count(len(nodes), "node", "nodes"))
	if voting == 1 {
		text += "s"
	}
	if len(away) > 0 {
		text += " (" + And(away) + ")"
	}
	m := Margin{Stopped: voting < needed}
	switch spare := voting - needed; {
	case spare < 0 && spare+slow >= 0:
		m.Level = Warn
		m.Text = fmt.Sprintf("%s: some are slow to answer. No tick can start until %d answer in time.", text, needed)
		m.More = "They answered a moment ago, so they, this machine or the network may only be busy. Look again shortly."
	case spare < 0 && len(waiting) > 0 && len(waiting) == len(away):
		m.Level = Warn
		m.Text = fmt.Sprintf("%s: the nodes are new or have restarted. No tick can start until %d of them vote.", text, needed)
		m.More = afterGrace(waiting[-spare-1])
	case spare < 0:
		m.Level = Bad
		m.Text = fmt.Sprintf("%s: no quorum. No tick can start until %d of them vote.", text, needed)
		m.More = toStart(nodes)
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

// tally counts the nodes that vote and the slow ones, and names those that do not vote.
// Waiting are the times at which abstaining ones vote again, in order.
func tally(nodes []Node) (voting, slow int, away, waiting []string) {
	for _, n := range nodes {
		switch n.State {
		case NodeVoting:
			voting++
			continue
		case NodeSlow:
			slow++
		case NodeAbstaining:
			waiting = append(waiting, Text(n.VouchesAt))
		}
		away = append(away, n.Node+" is "+n.State)
	}
	slices.Sort(waiting)
	return voting, slow, away, waiting
}

// afterGrace says when enough of the abstaining nodes vote again.
func afterGrace(at string) string {
	if at == "" {
		return "They do by themselves after their grace."
	}
	return "They do by themselves after their grace, from " + clockOf(&at) + " on."
}

// toStart says what to do without a quorum.
func toStart(nodes []Node) string {
	text, unwell := "", false
	for _, n := range nodes {
		switch n.State {
		case NodeDown:
			text = "Start the nodes that are down. "
		case NodeVoting, NodeSlow, NodeAbstaining:
		default:
			unwell = true
		}
	}
	if unwell {
		text += "quorate store check says what the nodes lack. "
	}
	return text + "A restarted node votes again after its grace. Until then running jobs lose their leases."
}

// storeSentence describes the only store, and what having one means.
func storeSentence(n Node) Sentence {
	switch n.State {
	case NodeReady:
		return Sentence{
			Calm, "The store is ready. There is only one: no tick starts while it is down.",
			"After a failover no tick starts for a grace, and tokens continue to grow. quorate store check says what a failover would lose.",
		}
	case NodeAbstaining:
		return Sentence{
			Warn, "The store is new, or another server has taken over: no tick starts before " + clockOf(n.VouchesAt) + ".",
			"It may have forgotten earlier ticks, so it does not grant them again. Running jobs continue, and tokens continue to grow.",
		}
	case NodeRefusing:
		return Sentence{Bad, "The store refuses what ticks need: no tick can start.", Text(n.Error)}
	}
	return Sentence{
		Bad, "The store does not answer: no tick can start.",
		"Start it, or its standby; quorate store check says what is wrong. Running jobs stop when they cannot extend their leases.",
	}
}

// clockOf is the time of day of a stamp.
func clockOf(stamp *string) string {
	return Time(stamp).UTC().Format(time.TimeOnly) + " UTC"
}
