package listing

import (
	"context"
	"slices"

	"github.com/quorate/quorate/scheduler"
)

// A Store is what the nodes keep of jobs.
type Store interface {
	scheduler.Ledger
	scheduler.Archive
	scheduler.Skimmer
}

// A Reader reads listings. It may be used by many goroutines.
type Reader struct {
	Ledger Store
	Roster scheduler.Roster
	// JobSets, if set, are those that replicas serve.
	JobSets scheduler.JobSets
	Acts    scheduler.Acts
	// CellOf, if set, names the cell that decides on the job with a key.
	CellOf func(key string) string
	// Served, if set, returns the schedule of a published job that has no written
	// form in what was published, if it is known otherwise.
	Served func(scheduler.JobInfo) (scheduler.Schedule, bool)
	// Kept, if set, keeps the directory: for servers.
	Kept *Shelf
}

func (r Reader) cellOf(key string) string {
	if r.CellOf == nil {
		return ""
	}
	return r.CellOf(key)
}

// schedule returns the schedule of a job as it was published.
func (r Reader) schedule(j scheduler.JobInfo) (scheduler.Schedule, bool) {
	if s, err := j.Ticks(); err == nil {
		return s, true
	}
	if r.Served == nil {
		return nil, false
	}
	return r.Served(j)
}

// Runs returns the runs of the named job that the query asks for, newest first.
func (r Reader) Runs(ctx context.Context, job string, q scheduler.Query) ([]scheduler.Entry, error) {
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

// RunsOfEach returns the runs of every job that the query of no job asks for, up
// to its limit of each, newest first. With a *scheduler.PartialError jobs are
// missing.
func (r Reader) RunsOfEach(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	lists := make([][]scheduler.Entry, len(d.Keys))
	err = inParallel(ctx, len(d.Keys), func(ctx context.Context, i int) error {
		of := q
		of.Job = d.Keys[i]
		list, err := r.Ledger.Runs(ctx, of)
		lists[i] = d.namedAll(list)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, newestFirst)
	return all, d.Gap
}

// Ticks returns the ticks of the named job that the query asks for, newest first,
// those that nobody has recorded included.
func (r Reader) Ticks(ctx context.Context, job string, q scheduler.Query) ([]scheduler.Entry, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	q.Job = d.Key(job)
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
		slices.SortStableFunc(list, func(a, b scheduler.Entry) int { return b.OrderKey().Compare(a.OrderKey()) })
		list = list[:min(len(list), q.Limit)]
	}
	if len(list) == 0 {
		err = d.Require(q.Job)
	}
	return d.namedAll(list), err
}
