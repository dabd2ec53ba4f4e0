package locking

// MostNodes is the largest number of nodes in a cluster.
const MostNodes = 7

// A Poll holds the answers of all nodes to one claim or extension.
type Poll struct {
	// List identifies the list of nodes (see NodeList). Names are the nodes' names in
	// the order of the configuration, nil if unknown; they must not be changed.
	List  uint32
	Names *[MostNodes]string
	// Answers are in the same order, and zero beyond the last node.
	Answers [MostNodes]Answer
	// Rounds counts the rounds of requests; 0: unknown.
	Rounds uint8
	// Errors quotes the nodes that refused or failed; mostly "".
	Errors string
}

// Nodes is the number of nodes; 0: their answers are unknown.
func (p *Poll) Nodes() int {
	for i, a := range p.Answers {
		if a == 0 {
			return i
		}
	}
	return MostNodes
}

// Name is the name of a node, "" if unknown.
func (p *Poll) Name(node int) string {
	if p.Names == nil {
		return ""
	}
	return p.Names[node]
}

// Letters returns the answers, one letter each.
func (p *Poll) Letters() string {
	b := make([]byte, p.Nodes())
	for i := range b {
		b[i] = byte(p.Answers[i])
	}
	return string(b)
}

// An Answer is one node's answer. Its value is the letter in stored forms.
type Answer byte

// The answers of a node.
const (
	Granted     Answer = '+' // it accepted
	NotAwaited  Answer = '.' // the round was decided before it answered
	Held        Answer = 'h' // it knows another holder of the lock or the tick
	Abstained   Answer = 'a' // it may have lost its memory
	Unreachable Answer = 'u' // it did not answer, or was known to be down
	Refused     Answer = 'r' // it refused for another reason
)

// String describes the answer in a word or two.
func (a Answer) String() string {
	switch a {
	case Granted:
		return "granted"
	case NotAwaited:
		return "not awaited"
	case Held:
		return "held"
	case Abstained:
		return "abstained"
	case Unreachable:
		return "unreachable"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// NodeList returns the names of nodes as a Poll has them, and a hash (FNV-1a) that
// identifies the list.
func NodeList(names []string) (list uint32, all *[MostNodes]string) {
	list, all = 2166136261, new([MostNodes]string)
	copy(all[:], names)
	for _, name := range names {
		for i := range len(name) {
			list = (list ^ uint32(name[i])) * 16777619
		}
		list = (list ^ '\n') * 16777619
	}
	return list, all
}

// A Polled lease has the nodes' answers to its last extension.
type Polled interface {
	// LastPoll returns that of the last extension tried; the zero Poll before.
	LastPoll() Poll
}

func lastPoll(t Tenure) Poll {
	if polled, ok := t.(Polled); ok {
		return polled.LastPoll()
	}
	return Poll{}
}
