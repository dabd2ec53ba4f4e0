package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

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
	Kind        string   `json:"kind" jsonschema:"node, or store for the only store, such as PostgreSQL."`
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

// A Lock is a held lock, or a run that never reported its end.
type Lock struct {
	Job        string         `json:"job" jsonschema:"Name of the job or the lock."`
	State      string         `json:"state" jsonschema:"held, unknown, partial or unfinished."`
	Holder     *string        `json:"holder" jsonschema:"Replica that holds it."`
	Tick       *string        `json:"tick"`
	Stream     *string        `json:"stream" jsonschema:"Stream of the tick: schedule, manual or backfill."`
	Beside     bool           `json:"beside" jsonschema:"The run may overlap with other ticks (overlap: allow)."`
	Token      *locking.Token `json:"token" jsonschema:"Fencing token of the claim."`
	Attempt    *int           `json:"attempt"`
	OnCrash    *string        `json:"on_crash" jsonschema:"Policy of the claim: skip or rerun."`
	Since      *string        `json:"since" jsonschema:"When the claim was granted."`
	LeftMillis *int64         `json:"left_ms" jsonschema:"Time until the lease ends; null: it has no end."`
	Nodes      string         `json:"nodes" jsonschema:"How many nodes hold it, of all, such as 3/5."`
	Done       bool           `json:"done" jsonschema:"The claim was finished, though a node still holds the lock."`
	Void       bool           `json:"void" jsonschema:"The claim was given back, though a node still holds the lock."`
}

// Nodes inspects all nodes, or the only store, and lists them.
func (r Reader) Nodes(ctx context.Context) ([]Node, error) {
	return NodeRows(r.Health.Inspect(ctx), r.Health.OneStore()), nil
}

// NodeRows lists the nodes; oneStore: the only one is the store, and has no votes.
func NodeRows(all []health.Node, oneStore bool) []Node {
	var rows []Node
	for _, n := range all {
		row := Node{
			Node: n.Name, Kind: kindOf(oneStore), URL: n.URL, State: nodeState(n, oneStore), Since: Stamp(n.Since), VouchesAt: Stamp(n.VouchesAt),
			Members: append([]string{}, n.Members...), Role: Optional(n.Role), Version: Optional(n.Version),
			RunID: Optional(n.RunID), Embedded: n.Embedded, Persistence: Optional(n.Persistence),
			Eviction: Optional(n.MaxmemoryPolicy), Warnings: append([]string{}, n.Warnings...), Why: Optional(n.Why), SealedFor: n.SealedFor,
		}
		if len(n.Members) > 0 && !oneStore {
			row.Epoch = &n.Epoch
		}
		if n.Since.IsZero() {
			row.VouchesAt = nil // it never waited
		}
		if n.Err != nil {
			row.Error = Optional(n.Err.Error())
		}
		row.RTTMillis, row.OffsetMilli = distance(n)
		rows = append(rows, row)
	}
	return rows
}

func kindOf(oneStore bool) string {
	if oneStore {
		return KindStore
	}
	return KindNode
}

func nodeState(n health.Node, oneStore bool) string {
	switch {
	case n.Slow:
		return NodeSlow
	case !n.Reachable:
		return NodeDown
	case len(n.SealedFor) > 0:
		return "sealed"
	case n.Refuses:
		return NodeRefusing
	case n.Blank:
		return "blank"
	case n.Vouches && oneStore:
		return NodeReady
	case n.Vouches:
		return NodeVoting
	}
	return NodeAbstaining
}

// distance is how far away the node and its clock are, in milliseconds.
func distance(n health.Node) (rtt, offset *float64) {
	if !n.Reachable || n.RTT == 0 {
		return nil, nil
	}
	return millis(n.RTT), millis(n.Offset)
}

func millis(d time.Duration) *float64 { return new(float64(d.Round(10*time.Microsecond)) / 1e6) }

// A Checkup is the verdict on all nodes, and on the machine that has checked them.
type Checkup struct {
	Rows []Check
	// Advice says whether the next node may be restarted; "" for one store.
	Advice string
}

// Check judges all nodes, or the only store. It takes longer than Nodes.
func (r Reader) Check(ctx context.Context) (Checkup, error) {
	checked := r.Health.Check(ctx)
	Advise(&checked, r.Health.OneStore())
	c := NewCheckup(checked, r.Health.OneStore())
	if slices.ContainsFunc(c.Rows, func(row Check) bool { return row.Node != nil && Answers(row.State) }) {
		c.Rows[0].Findings = append(c.Rows[0].Findings, r.notes(ctx)...) // of what all nodes store
	}
	return c, nil
}

// NewCheckup returns a checkup as rows.
func NewCheckup(c health.Checkup, oneStore bool) Checkup {
	rows := []Check{}
	for _, n := range c.Nodes {
		row := Check{
			Node: Optional(n.Name), Kind: kindOf(oneStore), State: nodeState(n, oneStore), Verdict: verdict(n.Findings), MayRestart: n.MayRestart,
			Findings: findingRows(n.Findings), Version: Optional(n.Version), Persistence: Optional(n.Persistence),
			Fsync: Optional(n.Fsync), Eviction: Optional(n.MaxmemoryPolicy), MaxMemory: Optional(n.MaxMemory), UsedMemory: Optional(n.UsedMemory),
		}
		row.RTTMillis, row.OffsetMilli = distance(n)
		rows = append(rows, row)
	}
	if i := slices.IndexFunc(c.Nodes, func(n health.Node) bool { return n.Reachable }); i >= 0 && c.Service != "" {
		rows[i].Findings = append(rows[i].Findings, ServiceFinding(c.Service))
	}
	if len(c.Local) > 0 {
		rows = append(rows, Check{Kind: "machine", State: "local", Verdict: verdict(c.Local), Findings: findingRows(c.Local)})
	}
	checkup := Checkup{Rows: rows}
	switch {
	case oneStore:
	case c.Next != "":
		checkup.Advice = mayRestart(c.Next)
	case !c.NextAt.IsZero():
		checkup.Advice = "not before " + *Stamp(c.NextAt.Truncate(time.Second)) + ": until then too few nodes would vote"
	case len(c.Nodes) == 1:
		checkup.Advice = onlyNode
	default:
		checkup.Advice = "no node may be restarted: too few would vote; fix the findings above first"
	}
	return checkup
}

// CheckupOf returns the checkup with the rows of another machine, whose advice follows from them.
func CheckupOf(rows []Check) Checkup {
	c := Checkup{Rows: rows, Advice: "no node may be restarted now: too few would vote; quorate nodes says until when"}
	if len(rows) > 0 && rows[0].Kind == KindStore {
		c.Advice = ""
		return c
	}
	nodes := 0
	for _, r := range rows {
		if r.Node == nil {
			continue
		}
		if nodes++; r.MayRestart {
			c.Advice = mayRestart(*r.Node)
		}
	}
	if nodes == 1 {
		c.Advice = onlyNode
	}
	return c
}

const onlyNode = "there is only one node: ticks are missed while it restarts, and for one restart_grace after"

func mayRestart(node string) string {
	return node + " may be restarted now: a quorum votes without it. Then wait until every node is well"
}

// Unwell reports whether somebody must act or wait.
func (c Checkup) Unwell() bool {
	return slices.ContainsFunc(c.Rows, func(r Check) bool { return r.Verdict != "ok" })
}

// Silent returns the error of Quorate unless a quorum answers.
func (c Checkup) Silent() error {
	var nodes []Node
	for _, r := range c.Rows {
		if r.Node != nil {
			nodes = append(nodes, Node{Kind: r.Kind, State: r.State})
		}
	}
	return Quorate(nodes)
}

func verdict(findings []health.Finding) string {
	if level := health.Worst(findings); level > health.Note {
		return level.String()
	}
	return "ok"
}

func findingRows(findings []health.Finding) []Finding {
	rows := []Finding{}
	for _, f := range findings {
		rows = append(rows, Finding{Topic: f.Topic, Level: f.Level.String(), Text: f.Text})
	}
	return rows
}

// ServiceFinding is what a check says of the service that the namespace belongs to.
func ServiceFinding(kept string) Finding {
	return Finding{Topic: "service", Level: health.Note.String(), Text: fmt.Sprintf("the namespace belongs to service %q; quorate store init --service renames it", kept)}
}

// Locks lists the held locks. Without a quorum the error is a locking.ErrNoQuorum.
func (r Reader) Locks(ctx context.Context) ([]Lock, error) {
	held, err := r.Claims.Holders(ctx)
	return rowsOf(held, err, lockRow)
}

// LockRows lists held locks.
func LockRows(held []locking.Holding) []Lock {
	rows, _ := rowsOf(held, nil, lockRow)
	return rows
}

func lockRow(h locking.Holding) Lock {
	row := Lock{
		Job: h.Name, State: lockState(h), Holder: Optional(h.Holder), Tick: Stamp(h.Tick), Token: Optional(h.Token),
		Attempt: Optional(h.Attempt), Since: Stamp(h.Since), Nodes: fmt.Sprintf("%d/%d", h.On.For, h.On.Of),
		Done: h.Done, Void: h.Void, Beside: h.Beside,
	}
	if !h.Tick.IsZero() {
		row.Stream = Optional(h.Stream)
		row.OnCrash = Optional(map[locking.Mode]string{locking.AtMostOnce: "skip", locking.AtLeastOnce: "rerun"}[h.Mode])
	}
	if h.Left != locking.Endless {
		row.LeftMillis = new(h.Left.Milliseconds())
	}
	return row
}

func lockState(h locking.Holding) string {
	switch {
	case h.On.For == 0:
		return "unfinished"
	case !h.Held():
		return "partial"
	case !h.Known():
		return "unknown"
	}
	return "held"
}

// unreadableTicks is how many of the latest ticks Unreadable reads.
const unreadableTicks = 500

// notes are the findings about what all nodes store: live replicas that conflict, and records that
// cannot be read. To find such records it reads the jobs, the commands and the latest ticks. Errors
// of these reads are ignored: other findings report them.
func (r Reader) notes(ctx context.Context) (notes []Finding) {
	replicas, _ := r.Replicas(ctx)
	for _, text := range Neighbours(replicas) {
		notes = append(notes, Finding{Topic: "replicas", Level: "note", Text: text})
	}
	_, _ = r.Recent(ctx, EntryQuery{Limit: unreadableTicks, Ticks: true})
	_, _ = r.Records.Commands.Open(ctx)
	_, _ = r.Records.Commands.Audit(ctx, commands.KeepAudit)
	if n, first := r.Records.Unreadable.Count(); n > 0 {
		text := fmt.Sprintf("%d stored records cannot be read and are skipped, such as %s: a later release wrote them, or they are damaged", n, first)
		notes = append(notes, Finding{Topic: "records", Level: "note", Text: text})
	}
	return notes
}
