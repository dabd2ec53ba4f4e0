package view

import (
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Poll has each node's answer to the claim of a run.
type Poll struct {
	Rounds *int         `json:"rounds" jsonschema:"Rounds of requests that the claim took."`
	Nodes  []NodeAnswer `json:"nodes" jsonschema:"Answers in the order of the configuration."`
	Errors *string      `json:"said" jsonschema:"Why nodes did not grant it, in words."`
}

// A NodeAnswer is one node's answer.
type NodeAnswer struct {
	Node   *string `json:"node" jsonschema:"Name of the node; null if the list of nodes has changed since."`
	Answer string  `json:"answer" jsonschema:"granted, not awaited, held, abstained, unreachable or refused."`
}

// Beats are the extensions of the lease of a run.
type Beats struct {
	Count  int     `json:"count" jsonschema:"Number of extensions."`
	Failed int     `json:"failed" jsonschema:"How many failed."`
	Least  Beat    `json:"least" jsonschema:"The one that began with the least time left."`
	Lapse  *Beat   `json:"lapse" jsonschema:"The last one that failed."`
	Why    *string `json:"why" jsonschema:"Why it failed."`
	Last   []Beat  `json:"last" jsonschema:"The last ones, oldest first."`
}

// A Beat is one attempt to extend a lease.
type Beat struct {
	At      string `json:"at"`
	Left    int64  `json:"left_ms" jsonschema:"Time left of the lease when it began."`
	Took    int64  `json:"took_ms" jsonschema:"Duration."`
	Failed  bool   `json:"failed"`
	Granted *int   `json:"granted" jsonschema:"How many nodes granted it; null if unknown."`
	Nodes   *int   `json:"nodes" jsonschema:"Number of nodes whose answer was awaited: a quorum decides; null if unknown."`
	// Refused: a node has answered, and did not grant it. One that is down has not answered.
	Refused bool `json:"-"`
}

// newPoll returns nil if the answers are not known.
func newPoll(p locking.Poll) *Poll {
	if p.Nodes() == 0 {
		return nil
	}
	row := &Poll{Rounds: Optional(int(p.Rounds)), Errors: Optional(p.Errors)}
	for i, a := range p.Answers[:p.Nodes()] {
		row.Nodes = append(row.Nodes, NodeAnswer{Node: Optional(p.Name(i)), Answer: a.String()})
	}
	return row
}

// NewBeats returns the extensions of a lease as listings show them; nil for none.
func NewBeats(b *ledger.Beats) *Beats {
	if b == nil {
		return nil
	}
	row := &Beats{Count: b.Count, Failed: b.Failed, Least: newBeat(b.Least), Why: Optional(b.Why), Last: []Beat{}}
	if b.Failed > 0 {
		lapse := newBeat(b.Lapse)
		row.Lapse = &lapse
	}
	for _, one := range b.Last {
		row.Last = append(row.Last, newBeat(one))
	}
	return row
}

// awaited counts the nodes whose answer was awaited, 0 if the answers are unknown.
func awaited(p locking.Poll) int {
	n := 0
	for _, a := range p.Answers[:p.Nodes()] {
		if a != locking.NotAwaited {
			n++
		}
	}
	return n
}

func newBeat(b ledger.Beat) Beat {
	row := Beat{At: Text(Stamp(b.At)), Left: b.Left.Milliseconds(), Took: b.Took.Milliseconds(), Failed: b.Failed}
	if n := awaited(locking.Poll{Answers: b.Answers}); n > 0 {
		granted := 0
		for _, a := range b.Answers {
			switch a {
			case locking.Granted:
				granted++
			case locking.NotAwaited, locking.Unreachable:
			default:
				row.Refused = row.Refused || a != 0 // beyond the nodes of the list
			}
		}
		row.Granted, row.Nodes = &granted, &n
	}
	return row
}
