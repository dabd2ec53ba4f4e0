package listing

// States of a node that the code compares. A slow node does not answer now but answered
// lately, so it may only be busy.
const (
	NodeVoting     = "voting"
	NodeReady      = "ready" // of one store: it grants ticks
	NodeAbstaining = "abstaining"
	NodeSlow       = "slow"
	NodeRefusing   = "refusing"
	NodeDown       = "down"
)

// Answers reports whether a node in the state answers.
func Answers(state string) bool { return state != NodeSlow && state != NodeDown }

// Kinds of rows of nodes.
const (
	KindNode  = "node"  // a Redis node, which votes
	KindStore = "store" // the only store, such as PostgreSQL
)

// A Node is one node, or the only store.
type Node struct {
	Node        string   `json:"node"`
	Kind        string   `json:"kind"` // node, store
	URL         string   `json:"url"`
	State       string   `json:"state"` // voting, abstaining, sealed, blank, refusing, slow, down; of a store ready, abstaining, refusing, down
	Error       *string  `json:"error"`
	Why         *string  `json:"why"` // why it does not vote yet
	Since       *string  `json:"since"`
	VouchesAt   *string  `json:"vouches_at"`
	Members     []string `json:"members"`
	Epoch       *int64   `json:"epoch"`
	SealedFor   []string `json:"sealed_for"`
	Role        *string  `json:"role"`
	Version     *string  `json:"version"`
	RunID       *string  `json:"run_id"`
	Embedded    bool     `json:"embedded"`
	Persistence *string  `json:"persistence"`
	Eviction    *string  `json:"eviction"`
	RTTMillis   *float64 `json:"rtt_ms"`
	OffsetMilli *float64 `json:"offset_ms"`
	Warnings    []string `json:"warnings"`
}

// A Check is the verdict on one node, or on the only store. Without a name it is about this
// machine.
type Check struct {
	Node        *string   `json:"node"`
	Kind        string    `json:"kind"` // node, store, machine
	State       string    `json:"state"`
	Verdict     string    `json:"verdict"` // ok, wait, mend
	MayRestart  bool      `json:"may_restart"`
	Findings    []Finding `json:"findings"`
	Version     *string   `json:"version"`
	Persistence *string   `json:"persistence"`
	Fsync       *string   `json:"fsync"`
	Eviction    *string   `json:"eviction"`
	MaxMemory   *int64    `json:"max_memory"`
	UsedMemory  *int64    `json:"used_memory"`
	RTTMillis   *float64  `json:"rtt_ms"`
	OffsetMilli *float64  `json:"offset_ms"`
}

// A Finding is a problem that will cost votes, memory or ticks. Text says what to do.
type Finding struct {
	Topic string `json:"topic"`
	Level string `json:"level"` // note, wait, mend
	Text  string `json:"text"`
}
