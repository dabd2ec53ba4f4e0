package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
)

// Reader reads what the nodes keep of jobs and replicas.
func (c *Cluster) Reader() listing.Reader {
	return listing.Reader{Ledger: c.Ledger, Roster: c.Ledger, Remembered: c.Ledger.Remembered, JobSets: c.Ledger, Acts: c.Acts}
}

// Control asks for acts for the whole cluster.
func (c *Cluster) Control() listing.Control {
	return listing.Control{Reader: c.Reader(), CheckParams: config.CheckPublished, Evict: listing.EvictFrom(c)}
}

// NodeKind implements listing.Nodes.
func (c *Cluster) NodeKind() string {
	if c.Set.OneStore() {
		return listing.KindStore
	}
	return listing.KindNode
}

// Nodes looks at all nodes and lists them.
func (c *Cluster) Nodes(ctx context.Context) []listing.Node {
	rows := NodeRows(c.Set.Inspect(ctx))
	for i := range rows {
		rows[i].Kind, rows[i].State = c.called(rows[i].State)
	}
	return rows
}

// Checks judges all nodes, and the machine that it runs on.
func (c *Cluster) Checks(ctx context.Context) []listing.Check {
	rows := c.Noted(ctx, CheckRows(c.Set.Check(ctx)))
	for i := range rows {
		if rows[i].Node != nil {
			rows[i].Kind, rows[i].State = c.called(rows[i].State)
		}
	}
	return rows
}

// Noted adds to a check what there is to say of what is stored: to the first row, since it is all
// nodes'.
func (c *Cluster) Noted(ctx context.Context, rows []listing.Check) []listing.Check {
	if len(rows) > 0 {
		rows[0].Findings = append(rows[0].Findings, c.Reader().Notes(ctx, c.Unreadable)...)
	}
	return rows
}

// called returns the kind of a row, and the word for a state of that kind.
func (c *Cluster) called(state string) (kind, word string) {
	if kind = c.NodeKind(); kind == listing.KindStore && state == listing.NodeVoting {
		state = listing.NodeReady
	}
	return kind, state
}

// Locks lists who holds which lock. Without a quorum the error is a locking.ErrNoQuorum.
func (c *Cluster) Locks(ctx context.Context) ([]listing.Lock, error) {
	list, err := c.Holders(ctx)
	return listing.LockRows(list), err
}

// NodeRows lists the nodes.
func NodeRows(all []members.Status) []listing.Node {
	var rows []listing.Node
	for _, s := range all {
		rows = append(rows, nodeRow(s))
	}
	return rows
}

func nodeRow(s members.Status) listing.Node {
	row := listing.Node{
		Node: s.Name, Kind: listing.KindNode, URL: s.URL, State: nodeState(s), Since: listing.Stamp(s.Since), VouchesAt: listing.Stamp(s.VouchesAt),
		Members: s.Members, Role: listing.Optional(s.Role), Version: listing.Optional(s.Version),
		RunID: listing.Optional(s.RunID), Embedded: s.Embedded, Persistence: listing.Optional(s.Persistence),
		Eviction: listing.Optional(s.MaxmemoryPolicy), Warnings: s.Warnings, Why: listing.Optional(s.Why), SealedFor: s.SealedFor,
	}
	if row.Members == nil {
		row.Members = []string{}
	}
	if row.Warnings == nil {
		row.Warnings = []string{}
	}
	if len(s.Members) > 0 {
		row.Epoch = &s.Epoch
	}
	if s.Since.IsZero() {
		row.VouchesAt = nil // it never waited
	}
	if s.Err != nil {
		row.Error = listing.Optional(s.Err.Error())
	}
	row.RTTMillis, row.OffsetMilli = distance(s)
	return row
}

// distance is how far away the node and its clock are, in milliseconds.
func distance(s members.Status) (rtt, offset *float64) {
	if !s.Reachable {
		return nil, nil
	}
	far, ahead := millis(s.RTT), millis(s.Offset)
	return &far, &ahead
}

func millis(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }

func nodeState(s members.Status) string {
	_, unwritable := errors.AsType[*members.UnwritableError](s.Err)
	switch {
	case s.Slow:
		return listing.NodeSlow
	case !s.Reachable:
		return listing.NodeDown
	case len(s.SealedFor) > 0:
		return "sealed"
	case errors.Is(s.Err, locking.ErrRefused), unwritable:
		return listing.NodeRefusing
	case s.Blank:
		return "blank"
	case s.Vouches:
		return listing.NodeVoting
	}
	return listing.NodeAbstaining
}

// CheckRows lists how the nodes were judged.
func CheckRows(c members.Checkup) []listing.Check {
	var rows []listing.Check
	for _, n := range c.Nodes {
		rows = append(rows, checkRow(n))
	}
	if i := slices.IndexFunc(c.Nodes, func(n members.Condition) bool { return n.Reachable }); i >= 0 { // said once
		rows[i].Findings = append(rows[i].Findings, listing.ServiceFinding(c.Service)...)
	}
	if len(c.Local) > 0 {
		rows = append(rows, listing.Check{
			Kind: "machine", State: "local", Verdict: members.Fix.String(), Findings: findingRows(c.Local),
		})
	}
	return rows
}

func checkRow(n members.Condition) listing.Check {
	row := listing.Check{
		Node: listing.Optional(n.Name), Kind: listing.KindNode, State: nodeState(n.Status), Verdict: "ok", MayRestart: n.MayRestart,
		Findings: findingRows(n.Findings), Version: listing.Optional(n.Version), Persistence: listing.Optional(n.Persistence),
		Fsync: listing.Optional(n.Fsync), Eviction: listing.Optional(n.MaxmemoryPolicy),
		MaxMemory: listing.Optional(n.MaxMemory), UsedMemory: listing.Optional(n.UsedMemory),
	}
	if level := n.Level(); level > members.Note {
		row.Verdict = level.String()
	}
	row.RTTMillis, row.OffsetMilli = distance(n.Status)
	return row
}

func findingRows(findings []members.Finding) []listing.Finding {
	rows := []listing.Finding{}
	for _, f := range findings {
		rows = append(rows, listing.Finding{Topic: f.Topic, Level: f.Level.String(), Text: f.Text})
	}
	return rows
}
