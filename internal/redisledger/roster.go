package redisledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/scheduler"
)

// Beat implements [scheduler.Roster].
func (l *Ledger) Beat(ctx context.Context, self scheduler.Replica) ([]scheduler.Replica, error) {
	self.Seen = time.Now().Round(0)
	b, err := json.Marshal(self)
	if err != nil {
		return nil, fmt.Errorf("encoding a heartbeat: %w", err)
	}
	return l.replicas(ctx, "announcing this replica", l.lua.announce, self.ID, b)
}

// Replicas implements [scheduler.Roster].
func (l *Ledger) Replicas(ctx context.Context) ([]scheduler.Replica, error) {
	return l.replicas(ctx, "listing the replicas", l.lua.look)
}

func (l *Ledger) replicas(ctx context.Context, doing string, script *members.Script, announced ...any) ([]scheduler.Replica, error) {
	args := append([]any{l.lately.Milliseconds()}, announced...)
	replies, err := l.call(ctx, doing, script, "replicas", args...)
	if err != nil {
		return nil, err
	}
	return latest(doing, replies, func(v scheduler.Replica) (string, time.Time) { return v.ID, v.Seen })
}

// Leave implements [scheduler.Roster].
func (l *Ledger) Leave(ctx context.Context, id string) error {
	_, err := l.call(ctx, "leaving the roster", l.lua.leave, "replicas", id)
	return err
}

// latest decodes the nodes' texts, each only once, and returns the newest of each name,
// sorted by name.
func latest[V any](doing string, replies []members.Reply, key func(V) (string, time.Time)) ([]V, error) {
	newest, known := map[string]V{}, map[string]bool{}
	for _, reply := range replies {
		for _, text := range reply.Args {
			if known[text] {
				continue
			}
			known[text] = true
			var v V
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return nil, fmt.Errorf("%s: %s stores JSON that this release cannot read: %w", doing, reply.Node, err)
			}
			name, at := key(v)
			have, ok := newest[name]
			if _, old := key(have); !ok || at.After(old) {
				newest[name] = v
			}
		}
	}
	list := make([]V, 0, len(newest))
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		list = append(list, newest[name])
	}
	return list, nil
}
