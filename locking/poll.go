package locking

// MostNodes is how many nodes a Poll can tell of. A cluster has no more.
const MostNodes = 7

// A Poll is what each of several nodes said when it was asked for a claim, or to
// extend one.
type Poll struct {
	// List tells lists of nodes apart (NodeList), and Names are those of the nodes,
	// in the order of the configuration; nil: not known. Nobody changes them.
	List  uint32
	Names *[MostNodes]string
	// Answers are those of the nodes, in the same order, and zero where there is no
	// further node.
	Answers [MostNodes]Answer
	// Rounds counts the rounds of requests that it took; 0: nobody counted.
	Rounds uint8
	// Said is what the nodes that did not accept had to say, in words; mostly "".
	Said string
}

// Nodes is how many nodes there were; 0: it is not known what each of them said.
func (p *Poll) Nodes() int {
	for i, a := range p.Answers {
		if a == 0 {
			return i
		}
	}
	return MostNodes
}

// Name is the name of a node, "" if it is not known.
func (p *Poll) Name(node int) string {
	if p.Names == nil {
		return ""
	}
	return p.Names[node]
}

// Letters are the answers, a letter each.
func (p *Poll) Letters() string {
	b := make([]byte, p.Nodes())
	for i := range b {
		b[i] = byte(p.Answers[i])
	}
	return string(b)
}

// An Answer is what one node said. Its value is the letter that stored forms have.
type Answer byte

// What a node can say, or not.
const (
	Granted     Answer = '+' // it accepted
	NotAsked    Answer = '.' // enough others accepted
	Held        Answer = 'h' // it knows of somebody else who has the lock or the tick
	Abstained   Answer = 'a' // it may have lost its memory
	Unreachable Answer = 'u' // it did not answer, or was known to be down
	Refused     Answer = 'r' // it would not, for another reason
)

// String is the answer in a word or two.
func (a Answer) String() string {
	switch a {
	case Granted:
		return "granted"
	case NotAsked:
		return "not asked"
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

// NodeList returns the names of nodes, in the order of the configuration, as a Poll
// has them, and what tells the list from others: FNV-1a.
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

// A Polled lease knows what the nodes said to its last extension.
type Polled interface {
	// LastPoll is that of the last extension that was tried; the zero Poll before.
	LastPoll() Poll
}

func lastPoll(t Tenure) Poll {
	if polled, ok := t.(Polled); ok {
		return polled.LastPoll()
	}
	return Poll{}
}
