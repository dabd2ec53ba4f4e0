package view

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
	Node        string   `json:"node" jsonschema:"Name of the node."`
	Kind        string   `json:"kind" jsonschema:"node, or store for PostgreSQL."`
	URL         string   `json:"url" jsonschema:"Address without secrets."`
	State       string   `json:"state" jsonschema:"Of a store also ready: voting, abstaining, sealed, blank, refusing, slow or down."`
	Error       *string  `json:"error" jsonschema:"Last error."`
	Why         *string  `json:"why" jsonschema:"Why it does not vote yet."`
	Since       *string  `json:"since" jsonschema:"It remembers claims since this time."`
	VouchesAt   *string  `json:"vouches_at" jsonschema:"When it votes again on all ticks."`
	Members     []string `json:"members" jsonschema:"List of nodes that it belongs to."`
	Epoch       *int64   `json:"epoch" jsonschema:"Number of changes of that list."`
	SealedFor   []string `json:"sealed_for" jsonschema:"New list, during a change."`
	Role        *string  `json:"role" jsonschema:"Role in replication."`
	Version     *string  `json:"version" jsonschema:"Version of the server."`
	RunID       *string  `json:"run_id" jsonschema:"Changes when the server restarts."`
	Embedded    bool     `json:"embedded" jsonschema:"It runs inside quorate dev."`
	Persistence *string  `json:"persistence"`
	Eviction    *string  `json:"eviction" jsonschema:"maxmemory-policy of Redis."`
	RTTMillis   *float64 `json:"rtt_ms" jsonschema:"Duration of a request."`
	OffsetMilli *float64 `json:"offset_ms" jsonschema:"Its clock minus that of the replica."`
	Warnings    []string `json:"warnings" jsonschema:"Problems to fix."`
}

// A Check is the verdict on one node, or on the only store. Without a name it is about this
// machine.
type Check struct {
	Node        *string   `json:"node" jsonschema:"Name of the node; null: this row is about the machine of the replica."`
	Kind        string    `json:"kind" jsonschema:"node, store or machine."`
	State       string    `json:"state"`
	Verdict     string    `json:"verdict" jsonschema:"ok, wait or mend."`
	MayRestart  bool      `json:"may_restart" jsonschema:"A quorum of the other nodes votes, so this one may restart."`
	Findings    []Finding `json:"findings"`
	Version     *string   `json:"version" jsonschema:"Version of the server."`
	Persistence *string   `json:"persistence"`
	Fsync       *string   `json:"fsync" jsonschema:"appendfsync of Redis."`
	Eviction    *string   `json:"eviction" jsonschema:"maxmemory-policy of Redis."`
	MaxMemory   *int64    `json:"max_memory" jsonschema:"Limit in bytes."`
	UsedMemory  *int64    `json:"used_memory" jsonschema:"Bytes in use."`
	RTTMillis   *float64  `json:"rtt_ms" jsonschema:"Duration of a request."`
	OffsetMilli *float64  `json:"offset_ms" jsonschema:"Its clock minus that of the replica."`
}

// A Finding is a problem that will cost votes, memory or ticks. Text says what to do.
type Finding struct {
	Topic string `json:"topic"`
	Level string `json:"level" jsonschema:"note, wait or mend."`
	Text  string `json:"text" jsonschema:"The problem, and what to do."`
}
