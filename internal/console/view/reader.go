package view

import (
	"context"
	"slices"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Store is the part of the nodes' data that is about ticks.
type Store interface {
	ledger.Store
	ledger.Archive
	ledger.Skimmer
}

// A Reader reads listings. It may be used by many goroutines.
type Reader struct {
	Ledger Store
	Roster scheduler.Roster
	// Remembered, if set, lists the replicas of the roster and the lost ones.
	Remembered func(context.Context) ([]scheduler.Replica, error)
	// JobSets, if set, has the sets of jobs that replicas serve.
	JobSets scheduler.JobSets
	Acts    acts.Store
	// Served, if set, returns the schedule of a published job whose schedule was not
	// published in full.
	Served func(scheduler.JobInfo) (schedule.Schedule, bool)
	// Cache, if set, caches the directory.
	Cache *DirectoryCache
}

// schedule returns the schedule of a published job.
func (r Reader) schedule(j scheduler.JobInfo) (schedule.Schedule, bool) {
	if s, err := j.Ticks(); err == nil {
		return s, true
	}
	if r.Served == nil {
		return nil, false
	}
	return r.Served(j)
}

// Runs returns the runs of the named job that match the query, newest first.
func (r Reader) Runs(ctx context.Context, job string, q ledger.Query) ([]ledger.Entry, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	q.Job = d.Key(job)
	list, err := r.Ledger.Runs(ctx, q)
	if err == nil && len(list) == 0 {
		err = d.Require(q.Job)
	}
	return d.namedAll(list), err
}

// RunsOfEach returns the runs of every job that match the query, newest first. The
// limit applies to each job.
func (r Reader) RunsOfEach(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return ofEach(ctx, r, q, func(ctx context.Context, _ Directory, q ledger.Query) ([]ledger.Entry, error) {
		return r.Ledger.Runs(ctx, q)
	})
}

// TicksOfEach returns the ticks of every job that match the query, newest first, with
// computed ones. The limit applies to each job.
func (r Reader) TicksOfEach(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return ofEach(ctx, r, q, func(ctx context.Context, d Directory, q ledger.Query) ([]ledger.Entry, error) {
		return ticksOf(ctx, r, d, q)
	})
}

func ofEach(ctx context.Context, r Reader, q ledger.Query, read func(context.Context, Directory, ledger.Query) ([]ledger.Entry, error)) ([]ledger.Entry, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	lists := make([][]ledger.Entry, len(d.Keys))
	err = inParallel(ctx, len(d.Keys), func(ctx context.Context, i int) error {
		of := q
		of.Job = d.Keys[i]
		list, err := read(ctx, d, of)
		lists[i] = d.namedAll(list)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, newestFirst)
	return all, nil
}

// Ticks returns the ticks of the named job that match the query, newest first. It
// includes computed ones, which no replica recorded.
func (r Reader) Ticks(ctx context.Context, job string, q ledger.Query) ([]ledger.Entry, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	q.Job = d.Key(job)
	list, err := ticksOf(ctx, r, d, q)
	if err == nil && len(list) == 0 {
		err = d.Require(q.Job)
	}
	return d.namedAll(list), err
}

// ticksOf returns the ticks of the job with the key q.Job.
func ticksOf(ctx context.Context, r Reader, d Directory, q ledger.Query) ([]ledger.Entry, error) {
	list, err := r.Ledger.Ticks(ctx, q)
	if err != nil {
		return nil, err
	}
	missed, err := r.unrecorded(ctx, d, q, list)
	if err != nil {
		return nil, err
	}
	if len(missed) > 0 {
		list = append(list, missed...)
		slices.SortStableFunc(list, func(a, b ledger.Entry) int { return b.OrderKey().Compare(a.OrderKey()) })
		list = list[:min(len(list), q.Limit)]
	}
	return list, nil
}
