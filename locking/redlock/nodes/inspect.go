package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// A Status is what one examination found of a node.
type Status struct {
	Name string
	// URL is without secrets.
	URL string
	// Reachable tells whether the node answered; Err is what is wrong with it,
	// reachable or not, nil if nothing is.
	Reachable bool
	Err       error
	// Slow: it did not answer in time, asked twice, though it has answered within
	// Config.CheckEvery: it, the network or this machine may merely be busy.
	Slow bool

	Role, Version, RunID string
	// Blank: the node holds nothing of the namespace.
	Blank bool
	// Embedded: the node lives inside a process, for development.
	Embedded bool
	// Served: the node has accepted a claim.
	Served bool
	// Members are the names of the list the node belongs to, and MembersMatch
	// tells whether it is the configured one.
	Members      []string
	MembersMatch bool
	// Cell is what the node's list is called among Cells, of which it is one; empty
	// if it decides on all names.
	Cell  string
	Cells []string
	// Epoch is how often the list was changed before; of a formatted node.
	Epoch int64
	// SealedFor are the names of the list that the node is sealed for, nil if no
	// change is under way.
	SealedFor []string
	// Since is the moment since which the node remembers, by its own clock; the
	// zero time if it was declared as new.
	Since time.Time
	// Vouches tells whether the node votes on ticks of now; it does from
	// VouchesAt on, by the local clock. VouchesAt is zero if it is not known.
	Vouches   bool
	VouchesAt time.Time
	// Why says in words why the node does not vouch yet; empty if it does, or if
	// Err says what is wrong.
	Why string

	// Persistence is aof, rdb or none; empty if the node does not tell.
	Persistence     string
	MaxmemoryPolicy string
	// RTT is the round trip of the examination, Offset how far the node's
	// clock is ahead of the local one.
	RTT      time.Duration
	Offset   time.Duration
	Warnings []string
}

// Inspect examines all nodes, those that are late twice, and changes nothing on
// them, except that a node whose restart nobody had noticed abstains from now on.
func (s *Set) Inspect(ctx context.Context) []Status {
	views := s.examineWith(ctx, (*Node).examineTwice)
	out := make([]Status, len(views))
	for i, v := range views {
		out[i] = v.status()
	}
	return out
}

// examineTwice examines the node again if it was late.
func (n *Node) examineTwice(ctx context.Context) view {
	v := n.examine(ctx)
	if late(v.reply.Err) && ctx.Err() == nil {
		v = n.examine(ctx)
	}
	return v
}

// late tells whether a call ended for want of time, and not because the node or
// its machine refused it.
func late(err error) bool {
	var end net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &end) && end.Timeout()
}

func (v view) status() Status {
	st := Status{
		Name: v.node.name, URL: v.node.URL(), Reachable: v.answered(), Blank: v.blank(),
		Role: v.info["role"], Version: v.info.version(), RunID: v.info.runID(),
		Persistence: v.info.persistence(), MaxmemoryPolicy: v.info.eviction(),
		Warnings: v.warnings(), Err: v.judge(),
	}
	if st.Err == nil {
		st.Err = v.reply.Err
	}
	cfg := &v.node.set.cfg
	st.Slow = !st.Reachable && late(v.reply.Err) && time.Since(v.node.health.get().heard) < cfg.CheckEvery
	if st.Slow {
		st.Err = fmt.Errorf("it did not answer within %v, asked twice, but has within the last %v: %w", cfg.Timeout, cfg.CheckEvery, st.Err)
	}
	if !v.reply.NodeTime.IsZero() {
		st.RTT, st.Offset = v.reply.Received.Sub(v.reply.Sent), v.offset()
	}
	if v.reply.Err != nil {
		return st
	}
	st.Embedded, st.Served, st.Since, st.Epoch = v.held.embedded, v.held.served, v.held.since, v.held.epoch
	st.SealedFor, _, _ = readList(v.held.sealedNames)
	st.Members, st.Cell, st.Cells = readList(v.held.names)
	st.MembersMatch = v.ours()
	st.Vouches = v.held.floor.Before(v.reply.NodeTime)
	st.VouchesAt = v.held.floor.Add(-st.Offset)
	if !st.Vouches && st.Err == nil {
		st.Why = fmt.Sprintf("it came, or came back, at %s and may have lost its memory: it votes on ticks after %s",
			clockTime(v.held.since.Add(-st.Offset)), clockTime(st.VouchesAt))
	}
	return st
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05Z") }
