package listing

import (
	"cmp"
	"context"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// A Job is one version of a job that replicas serve, or served last, and how it
// fared last.
type Job struct {
	Job         string  `json:"job"`
	Func        *string `json:"func"`
	Schedule    *string `json:"schedule"`
	Timezone    *string `json:"timezone"`
	Description *string `json:"description"`
	Next        *string `json:"next"`
	// JitterMillis bounds by how much later than its nominal time a tick starts.
	JitterMillis *int64             `json:"jitter_ms"`
	LastTick     *string            `json:"last_tick"`
	LastOutcome  *scheduler.Outcome `json:"last_outcome"`
	LastReplica  *string            `json:"last_replica"`
	Published    *string            `json:"published"`
	PublishedBy  *string            `json:"published_by"`
	// Key is what the nodes know the job by: what it was called first.
	Key  string  `json:"key"`
	Hash *string `json:"hash"` // of this version of the job
	// Paused is why its ticks are skipped, null if they are not.
	Paused *string `json:"paused"`
	Cell   *string `json:"cell"` // that decides on it; null if there is one group of nodes
	// Live: a replica serves this version now. Drift: others serve others.
	Live  bool `json:"live"`
	Drift bool `json:"drift"`

	// Info is what was published.
	Info scheduler.JobInfo `json:"-"`
}

// Jobs lists the versions of all jobs, or of the named ones, with the last tick
// of each. MarkPaused says which are paused. With a *scheduler.PartialError jobs
// are missing.
func (r Reader) Jobs(ctx context.Context, names ...string) ([]Job, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	return r.JobsIn(ctx, d, names...)
}

// JobsIn is Jobs for who has read the directory. It reads the end of the histories of
// all the jobs at once.
func (r Reader) JobsIn(ctx context.Context, d Directory, names ...string) ([]Job, error) {
	now, versions := time.Now(), d.of(names)
	ask := make([]scheduler.Stretch, len(versions))
	for i, v := range versions {
		ask[i] = scheduler.Stretch{Job: v.StoredAs(), Limit: lastRecords}
	}
	ends, err := r.Ledger.Skim(ctx, ask, true)
	if Whole(err) != nil {
		return nil, err
	}
	rows := make([]Job, len(versions))
	for i, v := range versions {
		rows[i] = newJob(v, now)
		rows[i].Cell = Optional(r.cellOf(rows[i].Key))
		last, err := r.last(ctx, ask[i].Job, ends[i])
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			rows[i].LastTick, rows[i].LastOutcome = Stamp(last[0].Tick), Optional(last[0].Outcome)
			rows[i].LastReplica = Optional(last[0].Replica)
		}
	}
	return rows, cmp.Or(err, d.Gap)
}

// lastRecords is how many records of a job are read to see how it fared last: its last
// tick has few.
const lastRecords = 3

// last returns the last ticks of a job of whose history the end was read.
func (r Reader) last(ctx context.Context, key string, end scheduler.Skimmed) ([]scheduler.Entry, error) {
	if len(end.Entries) > 0 || end.Rest.IsZero() {
		return end.Entries, nil
	}
	return r.Ledger.Ticks(ctx, scheduler.Query{Job: key, Limit: 1}) // it was tried again and again
}

func newJob(v scheduler.Version, now time.Time) Job {
	return Job{
		Job: v.Name, Func: Optional(v.Func), Schedule: Optional(v.Schedule), Timezone: Optional(v.Timezone),
		Description: Optional(v.Description), Next: nextTick(v.JobInfo, now),
		Published: Stamp(v.Published), PublishedBy: Optional(v.Replica),
		JitterMillis: Optional(v.Jitter.Milliseconds()),
		Key:          v.StoredAs(), Hash: Optional(v.Hash), Live: v.Live, Drift: v.Drift, Info: v.JobInfo,
	}
}

// nextTick computes a published job's next tick to start; nil if it never ticks again,
// or if its schedule has no definition that this release can read.
func nextTick(j scheduler.JobInfo, now time.Time) *string {
	s, err := j.Ticks()
	if err != nil {
		return nil
	}
	for _, next := range j.Coming(s, now, 1) {
		return Stamp(next.Tick)
	}
	return nil
}

// MarkPaused says of each job whether its ticks are skipped, and why. With an
// error that is not known, or as *scheduler.PartialError not of all.
func (r Reader) MarkPaused(ctx context.Context, rows []Job) error {
	open, err := r.Acts.Open(ctx)
	for i, row := range rows {
		rows[i].Paused = Optional(row.Info.PausedBy(open.Pauses))
	}
	return err
}
