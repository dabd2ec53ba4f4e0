package scheduler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// MinForgetAfter is the least of Config.ForgetAfter but 0: a roll-out, and the way
// back from it, should be over by then.
const MinForgetAfter = time.Hour

const (
	// forgetEvery is the pause between two looks at what nobody serves any more.
	forgetEvery = time.Hour
	// forgetAtOnce is how many jobs are forgotten after one look, so that it
	// keeps nobody from voting.
	forgetAtOnce  = 20
	forgetTimeout = time.Minute
)

// A forgetter has what is kept of jobs dropped when no replica has served them
// for long. Each hour one of the live replicas does it. That two do, because
// they do not agree on who lives, is harmless.
type forgetter struct {
	cfg    Config
	wall   func() time.Time
	serves func(key string) bool // on this replica
}

// run looks once in every hour until ctx ends, each replica at a minute of its
// own, and not before it and those that started with it have published their
// jobs.
func (f forgetter) run(ctx context.Context) {
	if f.cfg.Roster == nil || f.cfg.Forget == nil || f.cfg.ForgetAfter == 0 {
		return
	}
	spread := weight("", time.Time{}, f.cfg.Replica) % uint64(forgetEvery-settling)
	for in := settling + time.Duration(spread); sleep(ctx, in); in = forgetEvery {
		f.look(ctx)
	}
}

// look forgets the jobs that nobody has served for the longest time. Where the
// roster cannot be read it does nothing.
func (f forgetter) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgetTimeout)
	defer cancel()
	now := f.wall()
	live, err := f.cfg.Roster.Replicas(ctx)
	if whole(err) != nil || !f.mine(live, now) {
		return
	}
	known, err := f.cfg.Roster.Jobs(ctx)
	if whole(err) != nil {
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

// mine tells whether it is this replica's turn: that of another one each hour.
// It is nobody's while a replica may not have published its jobs yet.
func (f forgetter) mine(live []Replica, now time.Time) bool {
	var ids []string
	for _, r := range live {
		if now.Sub(r.Started) < settling {
			return false
		}
		if r.State != StateDraining {
			ids = append(ids, r.ID)
		}
	}
	return Rank("", now.Truncate(forgetEvery), f.cfg.Replica, ids) == 0
}

// abandoned returns the jobs that nobody has served for Config.ForgetAfter, the
// longest first, and of each its versions, the last served first.
func (f forgetter) abandoned(known []JobInfo, live []Replica, now time.Time) [][]JobInfo {
	var gone [][]JobInfo
	for key, versions := range byKey(known) {
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

// forget drops a job, and then its place on the list: a node that was away keeps
// both, and is asked again when it is back.
func (f forgetter) forget(ctx context.Context, versions []JobInfo) error {
	if err := f.cfg.Forget(ctx, versions[0].StoredAs()); err != nil {
		return err
	}
	return f.cfg.Roster.Unpublish(ctx, versions)
}
