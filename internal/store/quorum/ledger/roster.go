package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler"
)

// Beat implements [scheduler.Roster].
func (l *Ledger) Beat(ctx context.Context, self scheduler.Replica) ([]scheduler.Replica, error) {
	self.Seen = time.Now().Round(0)
	b, err := json.Marshal(self)
	if err != nil {
		return nil, fmt.Errorf("encoding a heartbeat: %w", err)
	}
	replies, err := heartbeats(ctx, l, "announcing this replica", l.lua.announce, 0, self.Process(), b)
	if err != nil {
		return nil, err
	}
	return scheduler.Successors(latest(l.Unreadable, replies, heard)), nil
}

// Replicas implements [scheduler.Roster].
func (l *Ledger) Replicas(ctx context.Context) ([]scheduler.Replica, error) {
	replies, err := heartbeats(ctx, l, "listing the replicas", l.lua.look, 0)
	if err != nil {
		return nil, err
	}
	return scheduler.Successors(latest(l.Unreadable, replies, heard)), nil
}

// Remembered lists the replicas seen lately, and the lost ones: most of the nodes that
// answer know that one fell silent. The others may only have missed that it left.
func (l *Ledger) Remembered(ctx context.Context) ([]scheduler.Replica, error) {
	const doing = "listing the replicas"
	replies, err := heartbeats(ctx, l, doing, l.lua.look, 1)
	if err != nil {
		return nil, err
	}
	nodes, lost := map[string]int{}, map[string]scheduler.Replica{}
	for i, reply := range replies {
		live := slices.IndexFunc(reply.Args, func(text string) bool { return strings.HasPrefix(text, silent) })
		if live < 0 {
			continue
		}
		replies[i].Args = reply.Args[:live]
		reply.Args = slices.Clone(reply.Args[live:])
		for j, text := range reply.Args {
			reply.Args[j] = strings.TrimPrefix(text, silent)
		}
		for _, r := range latest(l.Unreadable, []membership.Reply{reply}, heard) {
			if nodes[r.Process()]++; r.Seen.After(lost[r.Process()].Seen) {
				lost[r.Process()] = r
			}
		}
	}
	list := latest(l.Unreadable, replies, heard)
	for _, r := range list {
		delete(lost, r.Process())
	}
	for id, r := range lost {
		if nodes[id] > len(replies)/2 {
			list = append(list, r.Lost())
		}
	}
	return scheduler.Successors(list), nil
}

// silent precedes the announcement of a replica that was not heard lately.
const silent = "lost|"

func heartbeats(ctx context.Context, l *Ledger, doing string, script *membership.Script, lost int, announced ...any) ([]membership.Reply, error) {
	args := append([]any{l.lately.Milliseconds(), scheduler.RememberLost.Milliseconds(), scheduler.MostLost, lost}, announced...)
	return l.call(ctx, doing, script, "replicas", args...)
}

// heard is the name of an announcement, and its time.
func heard(r scheduler.Replica) (string, time.Time) { return r.Process(), r.Seen }

// Leave implements [scheduler.Roster].
func (l *Ledger) Leave(ctx context.Context, self scheduler.Replica) error {
	_, err := l.call(ctx, "leaving the roster", l.lua.leave, "replicas", self.Process())
	return err
}

// errNameless is the error of a record that does not say whose it is.
var errNameless = errors.New("it has no name")

// latest decodes the nodes' texts, each only once, and returns the newest of each name,
// sorted by name.
func latest[V any](u *unreadable.Log, replies []membership.Reply, key func(V) (string, time.Time)) []V {
	newest, known := map[string]V{}, map[string]bool{}
	for _, reply := range replies {
		for _, text := range reply.Args {
			if known[text] {
				continue
			}
			known[text] = true
			var v V
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				u.Skipped(fmt.Sprintf("replica %.200q", text), err)
				continue
			}
			name, at := key(v)
			if name == "" {
				u.Skipped(fmt.Sprintf("replica %.200q", text), errNameless)
				continue
			}
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
	return list
}
