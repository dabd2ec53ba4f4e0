package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler"
)

const (
	// keepJobs is how long a version of a job stays published after the last replica
	// that served it. Housekeeping forgets jobs earlier.
	keepJobs = 400 * 24 * time.Hour
	// publishAtOnce bounds the versions per message, so a large set does not keep a
	// node from voting.
	publishAtOnce = 500
)

// Publish implements [scheduler.Roster].
func (l *Ledger) Publish(ctx context.Context, jobs []scheduler.JobInfo) error {
	for some := range slices.Chunk(jobs, publishAtOnce) {
		var args []any
		for _, j := range some {
			b, err := plainjson.Marshal(j)
			if err != nil {
				return fmt.Errorf("encoding job %s: %w", j.Name, err)
			}
			args = append(args, version(j), encodeAccount(j.Account)+"|"+string(b))
		}
		if _, err := l.call(ctx, "publishing the jobs", l.lua.publish, "jobs", args...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Unpublish implements [scheduler.Roster].
func (l *Ledger) Unpublish(ctx context.Context, jobs []scheduler.JobInfo) error {
	for some := range slices.Chunk(jobs, publishAtOnce) {
		var names []any
		for _, j := range some {
			names = append(names, version(j))
		}
		if _, err := l.call(ctx, "taking jobs off the list", l.lua.leave, "jobs", names...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// version is the key of a version of a job.
func version(j scheduler.JobInfo) string { return j.Name + "|" + j.Hash }

func (l *Ledger) call(ctx context.Context, doing string, script *membership.Script, key string, args ...any) ([]membership.Reply, error) {
	return answers(l.set, doing, l.set.Call(ctx, script, []string{l.set.Key(key)}, args...))
}
