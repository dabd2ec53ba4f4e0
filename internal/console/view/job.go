package view

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Job is one version of a job, served now or last, with its last tick.
type Job struct {
	Job          string          `json:"job" jsonschema:"Name of the job."`
	Func         *string         `json:"func" jsonschema:"Name of its function."`
	Schedule     *string         `json:"schedule"`
	Timezone     *string         `json:"timezone"`
	Description  *string         `json:"description"`
	Next         *string         `json:"next" jsonschema:"Next tick."`
	JitterMillis *int64          `json:"jitter_ms" jsonschema:"Largest delay of the start of a tick."`
	LastTick     *string         `json:"last_tick" jsonschema:"Last tick that came."`
	LastOutcome  *ledger.Outcome `json:"last_outcome" jsonschema:"Its outcome."`
	LastReplica  *string         `json:"last_replica" jsonschema:"Replica that ran it."`
	Published    *string         `json:"published" jsonschema:"When a replica last published this version; replicas repeat it every few minutes."`
	Since        *string         `json:"since" jsonschema:"Since when replicas serve this version, without another one in between; null from older releases."`
	PublishedBy  *string         `json:"published_by" jsonschema:"That replica."`
	Key          string          `json:"key" jsonschema:"First name of the job, by which the store knows it."`
	Hash         *string         `json:"hash" jsonschema:"Version of the job: a hash of its settings."`
	Paused       *string         `json:"paused" jsonschema:"Why its ticks are skipped; null: they are not."`
	Live         bool            `json:"live" jsonschema:"A replica serves this version now."`
	Drift        bool            `json:"drift" jsonschema:"Other replicas serve another version."`

	// Info is what was published.
	Info scheduler.JobInfo `json:"-"`
}

// Jobs lists the versions of all jobs, or of the named ones, with the last tick of each.
// See MarkPaused for pauses.
func (r Reader) Jobs(ctx context.Context, names ...string) ([]Job, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	return r.JobsIn(ctx, d, names...)
}

// JobsIn is Jobs for callers that have the directory. One request reads the last
// records of all jobs.
func (r Reader) JobsIn(ctx context.Context, d Directory, names ...string) ([]Job, error) {
	now, versions := time.Now(), d.of(names)
	ask := make([]ledger.Stretch, len(versions))
	for i, v := range versions {
		ask[i] = ledger.Stretch{Job: v.StoredAs(), Limit: lastRecords}
	}
	ends, err := r.Ledger.Skim(ctx, ask, true)
	if err != nil {
		return nil, err
	}
	rows := make([]Job, len(versions))
	for i, v := range versions {
		rows[i] = newJob(v, now)
		last, err := lastTick(ctx, r.Ledger, ask[i].Job, ends[i])
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			rows[i].LastTick, rows[i].LastOutcome = Stamp(last[0].Tick), Optional(last[0].Outcome)
			rows[i].LastReplica = Optional(last[0].Replica)
		}
	}
	return rows, nil
}

// lastRecords is how many records of a job are read to find its last tick. A tick
// rarely has more.
const lastRecords = 3

// lastTick returns the last tick of a job, given its last records.
func lastTick(ctx context.Context, store Store, key string, end ledger.Skimmed) ([]ledger.Entry, error) {
	if len(end.Entries) > 0 || end.Rest.IsZero() {
		return end.Entries, nil
	}
	return store.Ticks(ctx, ledger.Query{Job: key, Limit: 1}) // its last tick has many attempts
}

func newJob(v scheduler.Version, now time.Time) Job {
	return Job{
		Job: v.Name, Func: Optional(v.Func), Schedule: Optional(v.Schedule), Timezone: Optional(v.Timezone),
		Description: Optional(v.Description), Next: nextTick(v.JobInfo, now),
		Published: Stamp(v.Published), Since: Stamp(v.Since), PublishedBy: Optional(v.Replica),
		JitterMillis: Optional(v.Jitter.Milliseconds()),
		Key:          v.StoredAs(), Hash: Optional(v.Hash), Live: v.Live, Drift: v.Drift, Info: v.JobInfo,
	}
}

// nextTick computes a published job's next tick; nil if it has none, or if this release
// cannot read its schedule.
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

// MarkPaused sets Paused of each job. Unknown is that of OpenActs.
func (r Reader) MarkPaused(ctx context.Context, rows []Job) (unknown string, err error) {
	open, unknown, err := r.OpenActs(ctx)
	if err != nil {
		return "", err
	}
	for i, row := range rows {
		rows[i].Paused = Optional(row.Info.PausedBy(open.Pauses))
	}
	return unknown, nil
}
