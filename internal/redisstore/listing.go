package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Reader reads what the nodes keep of jobs and replicas.
func (c *Cluster) Reader() listing.Reader {
	return listing.Reader{
		Ledger: c.Ledger, Roster: c.Roster, JobSets: c.JobSets, Acts: c.Acts,
		CellOf: func(key string) string { return c.Of(key).Cell() },
	}
}

// Control asks for acts for the whole cluster.
func (c *Cluster) Control() listing.Control {
	return listing.Control{Reader: c.Reader(), CheckParams: config.CheckPublished, Evict: func(ctx context.Context, name string, token locking.Token, reason string) (listing.Lock, error) {
		h, err := c.Evict(ctx, name, token, reason)
		switch {
		case errors.Is(err, locking.ErrSeveral):
			err = &listing.InvalidError{Msg: err.Error() + ", with its token"}
		case errors.Is(err, locking.ErrReason):
			err = &listing.InvalidError{Msg: err.Error()}
		}
		return lockRow(c.Of(name).Cell(), h), err
	}}
}

// Nodes looks at all nodes and lists them, those of cells in the order of their
// names.
func (c *Cluster) Nodes(ctx context.Context) []listing.Node {
	var rows []listing.Node
	for _, s := range c.Sets {
		rows = append(rows, NodeRows(s.Cell(), s.Inspect(ctx))...)
	}
	return rows
}

// Checks judges all nodes, and the machine that it runs on.
func (c *Cluster) Checks(ctx context.Context) []listing.Check {
	var rows []listing.Check
	for _, s := range c.Sets {
		rows = append(rows, CheckRows(s.Cell(), s.Check(ctx))...)
	}
	return rows
}

// Locks lists who holds which lock. Without a quorum of any cell the error is a
// locking.ErrNoQuorum; with a *ledger.PartialError, which is one, too, those of
// the cells that it names are missing.
func (c *Cluster) Locks(ctx context.Context) ([]listing.Lock, error) {
	var rows []listing.Lock
	var errs []error
	silent := map[string]bool{}
	for _, s := range c.Sets {
		list, err := redlock.Holders(ctx, s)
		rows = append(rows, LockRows(s.Cell(), list)...)
		if err != nil {
			silent[s.Cell()] = true
			errs = append(errs, listing.InCell(s.Cell(), err))
		}
	}
	err := errors.Join(errs...)
	if err != nil && len(errs) < len(c.Sets) {
		err = &ledger.PartialError{Err: err, Lacks: func(key string) bool { return silent[c.Of(key).Cell()] }}
	}
	return rows, err
}

// NodeRows lists the nodes of a cell, or of the only group.
func NodeRows(cell string, all []members.Status) []listing.Node {
	var rows []listing.Node
	for _, s := range all {
		rows = append(rows, nodeRow(cell, s))
	}
	return rows
}

func nodeRow(cell string, s members.Status) listing.Node {
	row := listing.Node{
		Cell: listing.Optional(cell),
		Node: s.Name, URL: s.URL, State: nodeState(s), Since: listing.Stamp(s.Since), VouchesAt: listing.Stamp(s.VouchesAt),
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
	switch {
	case s.Slow:
		return listing.NodeSlow
	case !s.Reachable:
		return listing.NodeDown
	case len(s.SealedFor) > 0:
		return "sealed"
	case errors.Is(s.Err, locking.ErrRefused):
		return "refusing"
	case s.Blank:
		return "blank"
	case s.Vouches:
		return listing.NodeVoting
	}
	return listing.NodeAbstaining
}

// CheckRows lists how the nodes of a cell, or of the only group, were judged.
func CheckRows(cell string, c members.Checkup) []listing.Check {
	var rows []listing.Check
	for _, n := range c.Nodes {
		rows = append(rows, checkRow(cell, n))
	}
	if len(c.Local) > 0 {
		rows = append(rows, listing.Check{
			Cell: listing.Optional(cell), State: "local", Verdict: members.Fix.String(), Findings: findingRows(c.Local),
		})
	}
	return rows
}

func checkRow(cell string, n members.Condition) listing.Check {
	row := listing.Check{
		Cell: listing.Optional(cell),
		Node: listing.Optional(n.Name), State: nodeState(n.Status), Verdict: "ok", MayRestart: n.MayRestart,
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

// LockRows lists what is held in a cell, or in the only group.
func LockRows(cell string, held []locking.Holding) []listing.Lock {
	var rows []listing.Lock
	for _, h := range held {
		rows = append(rows, lockRow(cell, h))
	}
	return rows
}

func lockRow(cell string, h locking.Holding) listing.Lock {
	row := listing.Lock{
		Cell: listing.Optional(cell),
		Job:  h.Name, State: lockState(h), Holder: listing.Optional(h.Holder), Tick: listing.Stamp(h.Tick), Token: listing.Optional(h.Token),
		Attempt: listing.Optional(h.Attempt), Since: listing.Stamp(h.Since), Nodes: fmt.Sprintf("%d/%d", h.On.For, h.On.Of),
		Done: h.Done, Void: h.Void, Beside: h.Beside,
	}
	if !h.Tick.IsZero() {
		row.Stream = listing.Optional(h.Stream)
		row.OnCrash = listing.Optional(map[locking.Mode]string{locking.AtMostOnce: "skip", locking.AtLeastOnce: "rerun"}[h.Mode])
	}
	if h.Left != locking.Endless {
		left := h.Left.Milliseconds()
		row.LeftMillis = &left
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
