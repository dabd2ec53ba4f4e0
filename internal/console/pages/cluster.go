package pages

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler"
)

// A replicaRow is a replica with its problems.
type replicaRow struct {
	view.Replica
	Quiet bool
	Odd   bool // serves another set of jobs than most
}

// replicasPage shows the replicas, and which of them should not be beside each other.
type replicasPage struct {
	Lines    []line
	Replicas []replicaRow
}

func loadReplicas(ctx context.Context, v *visit) (any, error) {
	p, err := rows[view.Replica](ctx, v, "/replicas", nil)
	if err != nil {
		return nil, err
	}
	var shown replicasPage
	for _, text := range view.Neighbours(p.Items) {
		shown.Lines = append(shown.Lines, line{Level: view.Warn, Text: text})
	}
	most := usual(view.Present(p.Items))
	for _, r := range p.Items {
		row := replicaRow{Replica: r, Quiet: r.State != scheduler.StateLost && r.Silence(v.asOf()) > 0}
		row.Odd = most != "" && r.State != scheduler.StateLost && view.Text(r.ConfigHash) != most
		shown.Replicas = append(shown.Replicas, row)
	}
	return shown, nil
}

// usual is the hash of the most served set of jobs, "" if there is only one.
func usual(replicas []view.Replica) string {
	counts := map[string]int{}
	for _, r := range replicas {
		if r.ConfigHash != nil {
			counts[*r.ConfigHash]++
		}
	}
	if len(counts) < 2 {
		return ""
	}
	var most string
	for _, hash := range slices.Sorted(maps.Keys(counts)) {
		if counts[hash] > counts[most] {
			most = hash
		}
	}
	return most
}

// nodesPage shows the nodes.
type nodesPage struct {
	Lines  []line
	Nodes  []view.Node
	Checks []view.Check // nil: not requested
}

func loadNodes(ctx context.Context, v *visit) (any, error) {
	shown := nodesPage{Nodes: v.Nodes.Nodes(ctx)}
	shown.Lines = []line{quorumLine(v, shown.Nodes)}
	if v.query.Get("check") != "" {
		shown.Checks = v.Nodes.Checks(ctx)
	}
	return shown, nil
}

// locksPage shows held locks, the latest tokens and refused writes.
type locksPage struct {
	Locks  []view.Lock
	Tokens []view.Tick // the latest of each job
	Stale  []view.Tick
}

// tokensLookedAt is how many of the latest runs are read for tokens.
const tokensLookedAt = 300

func loadLocks(ctx context.Context, v *visit) (any, error) {
	p, err := rows[view.Lock](ctx, v, "/locks", nil)
	if err != nil {
		return nil, err
	}
	recent, err := lastKnown(v, "tokens", func() (view.Page, error) {
		return v.Control.Recent(ctx, view.RecentQuery{Limit: tokensLookedAt})
	})
	if err != nil {
		return nil, err
	}
	shown := locksPage{Locks: p.Items}
	known := map[string]bool{}
	for _, e := range recent.Entries {
		if e.StaleWrites > 0 {
			shown.Stale = append(shown.Stale, view.NewTick(e))
		}
		if !known[e.Job] {
			known[e.Job] = true
			shown.Tokens = append(shown.Tokens, view.NewTick(e))
		}
	}
	slices.SortFunc(shown.Tokens, func(x, y view.Tick) int { return strings.Compare(x.Job, y.Job) })
	return shown, nil
}

// auditPage shows the audit log.
type auditPage struct {
	Acts     []view.Act
	Kinds    []string
	Filtered bool
	More     string // next page, or ""
}

func loadAudit(ctx context.Context, v *visit) (any, error) {
	filters := v.only("since", "by", "job", "act", "refused")
	query := v.only("limit", "cursor")
	maps.Copy(query, filters)
	p, err := rows[view.Act](ctx, v, "/audit", query)
	return auditPage{Acts: p.Items, Kinds: v.api.Choices("/audit", "act"), Filtered: len(filters) > 0, More: v.more(p.Next)}, err
}
