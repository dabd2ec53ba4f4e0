package scheduler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// MinForgetAfter is the smallest Config.ForgetAfter except 0: a roll-out, and its rollback,
// should be over by then.
const MinForgetAfter = time.Hour

const (
	// forgetEvery is the pause between two checks.
	forgetEvery = time.Hour
	// forgetAtOnce bounds the jobs per check, so deletions do not delay votes.
	forgetAtOnce  = 20
	forgetTimeout = time.Minute
)

// A forgetter deletes the stored data of jobs that no replica has served for long. Each
// hour one of the live replicas does it. It is harmless if two do, because they see
// different live replicas.
type forgetter struct {
	cfg    Config
	wall   func() time.Time
	serves func(key string) bool // on this replica
}

// run checks once every hour until ctx ends, each replica at its own minute. The first
// check waits until this replica and those that started with it have published their jobs.
func (f forgetter) run(ctx context.Context) {
	if f.cfg.Roster == nil || f.cfg.Forget == nil || f.cfg.ForgetAfter == 0 {
		return
	}
	spread := job.Weight("", time.Time{}, f.cfg.Replica) % uint64(forgetEvery-roster.Settling)
	for in := roster.Settling + time.Duration(spread); attempt.Sleep(ctx, in); in = forgetEvery {
		f.check(ctx)
	}
}

// check deletes the jobs that were removed longest ago. It does nothing if the roster
// cannot be read.
func (f forgetter) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgetTimeout)
	defer cancel()
	now := f.wall()
	live, err := f.cfg.Roster.Replicas(ctx)
	if err != nil || !f.mine(live, now) {
		return
	}
	known, err := f.cfg.Roster.Jobs(ctx)
	if err != nil {
		return
	}
	for _, gone := range f.abandoned(known, live, now) {
		err := f.forget(ctx, gone)
		if ctx.Err() != nil {
			return
		}
		f.cfg.Observer(Event{Kind: EventForgotten, Entry: ledger.Entry{Job: gone[0].Name}, Since: now.Add(-gone[0].Age), Err: err})
		if errors.Is(err, locking.ErrNoQuorum) {
			return
		}
	}
}

// mine reports whether it is this replica's turn, which changes each hour. Nobody has it
// while a replica may not have published its jobs yet.
func (f forgetter) mine(live []Replica, now time.Time) bool {
	var ids []string
	for _, r := range live {
		if now.Sub(r.Started) < roster.Settling {
			return false
		}
		if r.State != StateDraining {
			ids = append(ids, r.ID)
		}
	}
	return job.Rank("", now.Truncate(forgetEvery), f.cfg.Replica, ids) == 0
}

// abandoned returns the jobs that no replica has served for Config.ForgetAfter, the longest
// first. Each has its versions, the last served first.
func (f forgetter) abandoned(known []JobInfo, live []Replica, now time.Time) [][]JobInfo {
	var gone [][]JobInfo
	for key, versions := range roster.ByKey(known) {
		slices.SortStableFunc(versions, func(a, b JobInfo) int { return cmp.Compare(a.Age, b.Age) })
		if versions[0].Age >= f.cfg.ForgetAfter && !f.serves(key) && ServedBy(versions, live, now) == "" {
			gone = append(gone, versions)
		}
	}
	slices.SortFunc(gone, func(a, b []JobInfo) int {
		return cmp.Or(cmp.Compare(b[0].Age, a[0].Age), strings.Compare(a[0].StoredAs(), b[0].StoredAs()))
	})
	return gone[:min(len(gone), forgetAtOnce)]
}

// forget deletes a job, then its place on the list. A node that was away keeps both, and is
// asked again later.
func (f forgetter) forget(ctx context.Context, versions []JobInfo) error {
	if err := f.cfg.Forget(ctx, versions[0].StoredAs()); err != nil {
		return err
	}
	return f.cfg.Roster.Unpublish(ctx, versions)
}
