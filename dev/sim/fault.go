package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A Fault is a kind of trouble.
type Fault string

// The kinds there are: of messages, of nodes, of replicas.
const (
	Lost    Fault = "messages lost"
	Delayed Fault = "messages late"
	Doubled Fault = "requests doubled"

	NodeCrash  Fault = "nodes crashed"
	NodeForgot Fault = "of these without memory"
	NodeFreeze Fault = "nodes frozen"
	NodeClock  Fault = "node clocks set"
	// Outage is drawn as a crash of all nodes at once.
	Outage    Fault = "power failures"
	Partition Fault = "replicas cut from nodes"

	ReplicaPause Fault = "replicas paused"
	ReplicaCrash Fault = "replicas killed"
	ReplicaClock Fault = "replica clocks set"
	RollOut      Fault = "configurations rolled out"
	Reload       Fault = "configurations reloaded"
)

// Faults are all kinds, in the order of listings.
func Faults() []Fault {
	return []Fault{
		Lost, Delayed, Doubled, NodeCrash, NodeForgot, NodeFreeze, NodeClock, Partition,
		ReplicaPause, ReplicaCrash, ReplicaClock, RollOut, Reload,
	}
}

// OfNode reports whether the fault happens to one node.
func (f Fault) OfNode() bool {
	return slices.Contains([]Fault{NodeCrash, NodeFreeze, NodeClock, Partition}, f)
}

// A Trouble is one fault at one time.
type Trouble struct {
	Fault         Fault
	At, For       time.Duration
	Node, Replica int
	Memory        Memory        // that a crashed node comes back with
	Older         time.Duration // how much older its memory is than the crash
	By            time.Duration // that a clock is set ahead
	// Anyway: also where the protocol assumes that it does not happen.
	Anyway bool
}

func (t Trouble) String() string {
	switch t.Fault {
	case NodeCrash:
		return fmt.Sprintf("node-%d is down for %v and comes back with %v", t.Node, t.For, t.Memory)
	case NodeFreeze:
		return fmt.Sprintf("node-%d is frozen for %v", t.Node, t.For)
	case NodeClock:
		return fmt.Sprintf("node-%d has its clock set by %v", t.Node, t.By)
	case Partition:
		return fmt.Sprintf("replica %d and node-%d are apart for %v", t.Replica, t.Node, t.For)
	case ReplicaPause:
		return fmt.Sprintf("replica %d is paused for %v", t.Replica, t.For)
	case ReplicaCrash:
		return fmt.Sprintf("replica %d is killed, and started again after %v", t.Replica, t.For)
	case ReplicaClock:
		return fmt.Sprintf("replica %d has its clock set by %v", t.Replica, t.By)
	case RollOut:
		return fmt.Sprintf("replica %d drains and comes back with another configuration", t.Replica)
	case Reload:
		return fmt.Sprintf("replica %d takes in another configuration", t.Replica)
	}
	return string(t.Fault)
}

// A Fleet is the processes that troubles happen to.
type Fleet interface {
	// Process returns the present incarnation of the i-th replica.
	Process(i int) *Process
	// Start begins another incarnation of the i-th replica after the last was killed.
	Start(i int)
	// RollOut lets the i-th replica drain and begins another incarnation of it with
	// another configuration.
	RollOut(i int)
	// Reload gives the i-th replica other jobs while it runs.
	Reload(i int)
}

// Plan makes the troubles happen. Call it before Run.
func (w *World) Plan(fleet Fleet, grace time.Duration, troubles []Trouble) {
	for i, t := range troubles {
		key := uint64(i)
		if t.Memory == Older {
			before := max(0, t.At-t.Older)
			w.at(w.start.Add(before), key, w.Nodes[t.Node].machine.Note)
		}
		w.at(w.start.Add(t.At), key, func() {
			end := w.strike(fleet, grace, t)
			if end != nil {
				w.at(w.start.Add(t.At+t.For), key, end)
			}
		})
	}
}

// strike begins a trouble and returns what ends it, if anything does.
func (w *World) strike(fleet Fleet, grace time.Duration, t Trouble) (end func()) {
	w.History.count(t.Fault)
	w.History.Add(Event{What: Happened, Text: t.String()})
	switch t.Fault {
	case NodeCrash, NodeFreeze, NodeClock:
		return w.strikeNode(w.Nodes[t.Node], grace, t)
	case RollOut:
		fleet.RollOut(t.Replica)
		return nil
	case Reload:
		fleet.Reload(t.Replica)
		return nil
	}
	p := fleet.Process(t.Replica)
	switch t.Fault {
	case Partition:
		p.Cut(t.Node)
		return func() { p.Reconnect(t.Node) }
	case ReplicaPause:
		p.Pause()
		return p.Resume
	case ReplicaClock:
		p.Clock.Jump(time.Now(), t.By)
	case ReplicaCrash:
		if p.Dead() {
			return nil
		}
		p.Kill()
		w.History.Add(Event{What: Died, Replica: p.Name})
		return func() { fleet.Start(t.Replica) }
	}
	return nil
}

func (w *World) strikeNode(n *Node, grace time.Duration, t Trouble) (end func()) {
	switch t.Fault {
	case NodeClock:
		n.Clock.Jump(time.Now(), t.By)
	case NodeFreeze:
		n.Freeze()
		return n.Thaw
	case NodeCrash:
		n.Crash()
		return func() {
			n.Restart(w.memory(n, grace, t))
			if t.Anyway {
				n.Clock.Jump(time.Now(), t.By)
			}
		}
	}
	return nil
}

// memory is what the node may come back with. The protocol assumes that a node
// that forgets is not behind by more than half a grace what its clock once
// read: what it accepted then it would accept again.
func (w *World) memory(n *Node, grace time.Duration, t Trouble) Memory {
	if t.Memory == All || !t.Anyway && n.Clock.Behind(time.Now()) > grace/2 {
		return All
	}
	w.History.count(NodeForgot)
	return t.Memory
}

// everywhere is the outage as crashes of nodes.
func (t Trouble) everywhere(nodes int) []Trouble {
	list := make([]Trouble, nodes)
	for i := range list {
		list[i] = t
		list[i].Fault, list[i].Node = NodeCrash, i
	}
	return list
}

// Storm is how a Plan is drawn.
type Storm struct {
	Nodes, Replicas int
	Length          time.Duration // nothing lasts longer than this
	Kinds           []Fault       // one is drawn for each trouble
	Count           int
	Longest         time.Duration // of one trouble
	Step            time.Duration // the largest by which a clock is set
	Memories        []Memory      // one is drawn for each crash
}

// Troubles draws what happens in a storm.
func (s Storm) Troubles(luck *rand.Rand) []Trouble {
	var list []Trouble
	for range s.Count {
		t := Trouble{
			Fault: s.Kinds[luck.IntN(len(s.Kinds))],
			At:    time.Duration(luck.Float64() * float64(s.Length)),
			For:   time.Duration(luck.Float64() * luck.Float64() * float64(s.Longest)),
			Node:  luck.IntN(s.Nodes), Replica: luck.IntN(s.Replicas),
			Memory: s.Memories[luck.IntN(len(s.Memories))],
			Older:  time.Duration(luck.Float64() * float64(2*time.Second)),
			By:     time.Duration((2*luck.Float64() - 1) * float64(s.Step)).Truncate(time.Microsecond),
		}
		t.For = min(t.For, s.Length-t.At)
		if t.Fault == Outage {
			list = append(list, t.everywhere(s.Nodes)...)
			continue
		}
		list = append(list, t)
	}
	return list
}
