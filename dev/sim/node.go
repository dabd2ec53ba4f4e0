package sim

import (
	"strconv"
	"time"
)

// A Machine is a node's scripts and memory.
type Machine interface {
	// Call runs a script at the given reading of the node's clock.
	Call(now time.Time, script string, keys, args []string) ([]string, error)
	// Info is what INFO answers.
	Info() (string, error)
	// Note keeps what the machine holds now, for Restart with Older.
	Note()
	// Restart begins another incarnation with the given memory.
	Restart(incarnation string, memory Memory)
}

// Memory is what a node remembers of the incarnation before.
type Memory int

// What may be left after a restart.
const (
	All     Memory = iota
	Lasting        // what has no TTL: neither locks nor tombstones
	Older          // what there was at the last Note
	Nothing
)

var memoryNames = []string{"all of its memory", "all but what expires", "an older state", "nothing"}

func (m Memory) String() string { return memoryNames[m] }

// A Node is a machine at the network: up, down or frozen, with a clock. All its
// methods belong to the world's goroutine.
type Node struct {
	Name  string
	Clock *Clock
	world *World

	machine      Machine
	incarnations int
	down         int // faults that keep it from running
	frozen       int // faults that keep it from answering
	backlog      []func()
	forgot       bool // a restart has lost lasting data
}

func newNode(w *World, i int, m Machine) *Node {
	n := &Node{Name: "node-" + strconv.Itoa(i), world: w, machine: m, Clock: NewClock(w.start, 0, 0)}
	return n
}

// handle answers a request by way of reply, when the node can.
func (n *Node) handle(key uint64, reply func(answer), r Request) {
	switch {
	case n.down > 0 && key%2 == 0:
		reply(answer{err: errRefused})
	case n.down > 0: // and nobody refuses
	case n.frozen > 0:
		n.backlog = append(n.backlog, func() { n.handle(key, reply, r) })
	default:
		reply(n.run(r))
	}
}

func (n *Node) run(r Request) answer {
	if r.Script == Info {
		text, err := n.machine.Info()
		return answer{fields: []string{text}, err: err}
	}
	fields, err := n.machine.Call(n.Clock.Read(time.Now()), r.Script, r.Keys, r.Args)
	return answer{fields: fields, err: err}
}

// Crash stops the node. What waits for it is lost.
func (n *Node) Crash() {
	n.down++
	n.backlog = nil
}

// Restart ends a Crash.
func (n *Node) Restart(memory Memory) {
	n.incarnations++
	n.forgot = n.forgot || memory == Older || memory == Nothing
	n.machine.Restart(n.Name+"life"+strconv.Itoa(n.incarnations), memory)
	n.down--
}

// Freeze stops the node from answering: requests wait.
func (n *Node) Freeze() { n.frozen++ }

// Thaw ends a Freeze.
func (n *Node) Thaw() {
	n.frozen--
	waiting := n.backlog
	n.backlog = nil
	for _, do := range waiting {
		do()
	}
}

// Forgot reports whether the node ever lost lasting data.
func (n *Node) Forgot() bool { return n.forgot }
