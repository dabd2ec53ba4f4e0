package redisledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// keepJobs is how long a job stays published after the last replica that knew
// it has published it. Replicas publish again and again while they live.
const keepJobs = 30 * 24 * time.Hour

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

func (l *Ledger) replicas(ctx context.Context, doing string, script *nodes.Script, announced ...any) ([]scheduler.Replica, error) {
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

// Publish implements [scheduler.Roster].
func (l *Ledger) Publish(ctx context.Context, jobs []scheduler.JobInfo) error {
	args := []any{keepJobs.Milliseconds()}
	for _, j := range jobs {
		b, err := json.Marshal(j)
		if err != nil {
			return fmt.Errorf("encoding job %s: %w", j.Name, err)
		}
		args = append(args, j.Name, b)
	}
	_, err := l.call(ctx, "publishing the jobs", l.lua.announce, "jobs", args...)
	return err
}

// Unpublish takes the definition of a job that was removed off the list. A
// replica that still serves it publishes it again.
func (l *Ledger) Unpublish(ctx context.Context, job string) error {
	_, err := l.call(ctx, "taking "+job+" off the list of jobs", l.lua.leave, "jobs", job)
	return err
}

// Jobs implements [scheduler.Roster].
func (l *Ledger) Jobs(ctx context.Context) ([]scheduler.JobInfo, error) {
	const doing = "listing the jobs"
	replies, err := l.call(ctx, doing, l.lua.look, "jobs", keepJobs.Milliseconds())
	if err != nil {
		return nil, err
	}
	return latest(doing, replies, func(v scheduler.JobInfo) (string, time.Time) { return v.Name, v.Published })
}

func (l *Ledger) call(ctx context.Context, doing string, script *nodes.Script, key string, args ...any) ([]nodes.Reply, error) {
	return answers(l.set, doing, l.set.Call(ctx, script, []string{l.set.Key(key)}, args...))
}

// latest decodes what the nodes keep and returns the newest of each name,
// sorted by name.
func latest[V any](doing string, replies []nodes.Reply, key func(V) (string, time.Time)) ([]V, error) {
	newest := map[string]V{}
	for _, reply := range replies {
		for _, text := range reply.Args {
			var v V
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return nil, fmt.Errorf("%s: %s holds what is no JSON of this release: %w", doing, reply.Node, err)
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
