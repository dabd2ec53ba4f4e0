package presence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

const (
	// forgetEvery is the pause between two checks.
	forgetEvery = time.Hour
	// forgetAtOnce bounds the jobs per check, so deletions do not delay votes.
	forgetAtOnce  = 20
	forgetTimeout = time.Minute
)

// A Forgetter deletes the stored data of jobs that no replica has served for long. Each
// hour one of the live replicas does it. It is harmless if two do, because they see
// different live replicas.
type Forgetter struct {
	Replica  string
	Roster   roster.Roster                               // may be nil
	Forget   func(ctx context.Context, key string) error // nil: nothing is deleted
	After    time.Duration                               // 0: never
	Observer event.Observer
	Now      func() time.Time
	Serves   func(key string) bool // on this replica
}

// Run checks once every hour until ctx ends, each replica at its own minute. The first
// check waits until this replica and those that started with it have published their jobs.
func (f Forgetter) Run(ctx context.Context) {
	if f.Roster == nil || f.Forget == nil || f.After == 0 {
		return
	}
	spread := job.Weight("", time.Time{}, f.Replica) % uint64(forgetEvery-roster.Settling)
	for in := roster.Settling + time.Duration(spread); retry.After(ctx, in); in = forgetEvery {
		f.check(ctx)
	}
}

// check deletes the jobs that were removed longest ago. It does nothing if the roster
// cannot be read.
func (f Forgetter) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgetTimeout)
	defer cancel()
	now := f.Now()
	live, err := f.Roster.Replicas(ctx)
	if err != nil || !f.mine(live, now) {
		return
	}
	known, err := f.Roster.Jobs(ctx)
	if err != nil {
		return
	}
	for _, gone := range f.abandoned(known, live, now) {
		err := f.delete(ctx, gone)
		if ctx.Err() != nil {
			return
		}
		f.Observer(event.Event{Kind: event.Forgotten, Entry: ledger.Entry{Job: gone[0].Name}, Since: now.Add(-gone[0].Age), Err: err})
		if errors.Is(err, locking.ErrNoQuorum) {
			return
		}
	}
}

// mine reports whether it is this replica's turn, which changes each hour. Nobody has it
// while a replica may not have published its jobs yet.
func (f Forgetter) mine(live []roster.Replica, now time.Time) bool {
	var ids []string
	for _, r := range live {
		if now.Sub(r.Started) < roster.Settling {
			return false
		}
		if r.State != roster.StateDraining {
			ids = append(ids, r.ID)
		}
	}
	return job.Rank("", now.Truncate(forgetEvery), f.Replica, ids) == 0
}

// abandoned returns the jobs that no replica has served for After, the longest
// first. Each has its versions, the last served first.
func (f Forgetter) abandoned(known []roster.JobInfo, live []roster.Replica, now time.Time) [][]roster.JobInfo {
	var gone [][]roster.JobInfo
	for key, versions := range roster.ByKey(known) {
		slices.SortStableFunc(versions, func(a, b roster.JobInfo) int { return cmp.Compare(a.Age, b.Age) })
		if versions[0].Age >= f.After && !f.Serves(key) && roster.ServedBy(versions, live, now) == "" {
			gone = append(gone, versions)
		}
	}
	slices.SortFunc(gone, func(a, b []roster.JobInfo) int {
		return cmp.Or(cmp.Compare(b[0].Age, a[0].Age), strings.Compare(a[0].StoredAs(), b[0].StoredAs()))
	})
	return gone[:min(len(gone), forgetAtOnce)]
}

// delete deletes a job, then its place on the list. A node that was away keeps both, and is
// asked again later.
func (f Forgetter) delete(ctx context.Context, versions []roster.JobInfo) error {
	if err := f.Forget(ctx, versions[0].StoredAs()); err != nil {
		return err
	}
	return f.Roster.Unpublish(ctx, versions)
}
