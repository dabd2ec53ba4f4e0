package ledger

import (
	"context"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler"
)

// keepSets is how long a set of jobs is kept after the last renewal by a replica that
// serves it.
const keepSets = 24 * time.Hour

// RenewSet implements [scheduler.JobSets].
func (l *Ledger) RenewSet(ctx context.Context, hash string) (bool, error) {
	replies, err := l.keepSet(ctx, hash)
	for _, r := range replies {
		if r.Int(0) == 0 {
			return false, err
		}
	}
	return err == nil, err
}

// KeepSet implements [scheduler.JobSets].
func (l *Ledger) KeepSet(ctx context.Context, hash string, packed []byte) error {
	_, err := l.keepSet(ctx, hash, packed)
	return err
}

func (l *Ledger) keepSet(ctx context.Context, hash string, packed ...any) ([]membership.Reply, error) {
	args := append([]any{keepSets.Milliseconds()}, packed...)
	const doing = "keeping a set of jobs"
	return answers(l.set, doing, l.set.Call(ctx, l.lua.keepSet, []string{l.set.Key("set", hash)}, args...))
}

// JobSet implements [scheduler.JobSets]. One node that has it is enough.
func (l *Ledger) JobSet(ctx context.Context, hash string) ([]byte, error) {
	replies := l.set.Call(ctx, l.lua.readSet, []string{l.set.Key("set", hash)})
	for _, r := range replies {
		if r.Err == nil && r.Code == "OK" {
			return []byte(r.Arg(0)), nil
		}
	}
	if _, err := answers(l.set, "reading a set of jobs", replies); err != nil {
		return nil, err
	}
	return nil, scheduler.ErrNoJobSet
}

var _ scheduler.JobSets = (*Ledger)(nil)
