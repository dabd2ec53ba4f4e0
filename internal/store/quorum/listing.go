package quorum

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// Reader reads what the nodes keep of jobs and replicas.
func (c *Cluster) Reader() view.Reader {
	return view.Reader{Ledger: c.Ledger, Roster: c.Ledger, Remembered: c.Ledger.Remembered, JobSets: c.Ledger, Commands: c.Commands}
}

// Control asks for commands for the whole cluster.
func (c *Cluster) Control() view.Control {
	return view.Control{Reader: c.Reader(), CheckParams: config.CheckPublished, Evict: view.EvictFrom(c)}
}

// NodeKind implements view.Nodes.
func (c *Cluster) NodeKind() string {
	if c.Set.OneStore() {
		return view.KindStore
	}
	return view.KindNode
}

// Nodes looks at all nodes and lists them.
func (c *Cluster) Nodes(ctx context.Context) []view.Node {
	rows := NodeRows(c.Set.Inspect(ctx))
	for i := range rows {
		rows[i].Kind, rows[i].State = c.called(rows[i].State)
	}
	return rows
}

// Checks judges all nodes, and the machine that it runs on.
func (c *Cluster) Checks(ctx context.Context) []view.Check {
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
func (c *Cluster) Noted(ctx context.Context, rows []view.Check) []view.Check {
	if len(rows) > 0 {
		rows[0].Findings = append(rows[0].Findings, c.Reader().Notes(ctx, c.Unreadable)...)
	}
	return rows
}

// called returns the kind of a row, and the word for a state of that kind.
func (c *Cluster) called(state string) (kind, word string) {
	if kind = c.NodeKind(); kind == view.KindStore && state == view.NodeVoting {
		state = view.NodeReady
	}
	return kind, state
}

// Locks lists who holds which lock. Without a quorum the error is a locking.ErrNoQuorum.
func (c *Cluster) Locks(ctx context.Context) ([]view.Lock, error) {
	list, err := c.Holders(ctx)
	return view.LockRows(list), err
}

// NodeRows lists the nodes.
func NodeRows(all []membership.Status) []view.Node {
	var rows []view.Node
	for _, s := range all {
		rows = append(rows, nodeRow(s))
	}
	return rows
}

func nodeRow(s membership.Status) view.Node {
	row := view.Node{
		Node: s.Name, Kind: view.KindNode, URL: s.URL, State: nodeState(s), Since: view.Stamp(s.Since), VouchesAt: view.Stamp(s.VouchesAt),
		Members: s.Members, Role: view.Optional(s.Role), Version: view.Optional(s.Version),
		RunID: view.Optional(s.RunID), Embedded: s.Embedded, Persistence: view.Optional(s.Persistence),
		Eviction: view.Optional(s.MaxmemoryPolicy), Warnings: s.Warnings, Why: view.Optional(s.Why), SealedFor: s.SealedFor,
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
		row.Error = view.Optional(s.Err.Error())
	}
	row.RTTMillis, row.OffsetMilli = distance(s)
	return row
}

// distance is how far away the node and its clock are, in milliseconds.
func distance(s membership.Status) (rtt, offset *float64) {
	if !s.Reachable {
		return nil, nil
	}
	far, ahead := millis(s.RTT), millis(s.Offset)
	return &far, &ahead
}

func millis(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }

func nodeState(s membership.Status) string {
	_, unwritable := errors.AsType[*membership.UnwritableError](s.Err)
	switch {
	case s.Slow:
		return view.NodeSlow
	case !s.Reachable:
		return view.NodeDown
	case len(s.SealedFor) > 0:
		return "sealed"
	case errors.Is(s.Err, locking.ErrRefused), unwritable:
		return view.NodeRefusing
	case s.Blank:
		return "blank"
	case s.Vouches:
		return view.NodeVoting
	}
	return view.NodeAbstaining
}

// CheckRows lists how the nodes were judged.
func CheckRows(c membership.Checkup) []view.Check {
	var rows []view.Check
	for _, n := range c.Nodes {
		rows = append(rows, checkRow(n))
	}
	if i := slices.IndexFunc(c.Nodes, func(n membership.Status) bool { return n.Reachable }); i >= 0 { // said once
		rows[i].Findings = append(rows[i].Findings, view.ServiceFinding(c.Service)...)
	}
	if len(c.Local) > 0 {
		rows = append(rows, view.Check{
			Kind: "machine", State: "local", Verdict: membership.Fix.String(), Findings: findingRows(c.Local),
		})
	}
	return rows
}

func checkRow(n membership.Status) view.Check {
	row := view.Check{
		Node: view.Optional(n.Name), Kind: view.KindNode, State: nodeState(n), Verdict: "ok", MayRestart: n.MayRestart,
		Findings: findingRows(n.Findings), Version: view.Optional(n.Version), Persistence: view.Optional(n.Persistence),
		Fsync: view.Optional(n.Fsync), Eviction: view.Optional(n.MaxmemoryPolicy),
		MaxMemory: view.Optional(n.MaxMemory), UsedMemory: view.Optional(n.UsedMemory),
	}
	if level := n.Level(); level > membership.Note {
		row.Verdict = level.String()
	}
	row.RTTMillis, row.OffsetMilli = distance(n)
	return row
}

func findingRows(findings []membership.Finding) []view.Finding {
	rows := []view.Finding{}
	for _, f := range findings {
		rows = append(rows, view.Finding{Topic: f.Topic, Level: f.Level.String(), Text: f.Text})
	}
	return rows
}
