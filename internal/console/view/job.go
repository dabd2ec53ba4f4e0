package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Job is one version of a job, served now or last, with its last tick.
type Job struct {
	Job            string          `json:"job" jsonschema:"Name of the job."`
	Func           *string         `json:"func" jsonschema:"Name of its function."`
	Schedule       *string         `json:"schedule"`
	Timezone       *string         `json:"timezone"`
	Description    *string         `json:"description"`
	Next           *string         `json:"next" jsonschema:"Next tick."`
	JitterMillis   *int64          `json:"jitter_ms" jsonschema:"Largest delay of the start of a tick."`
	LastTick       *string         `json:"last_tick" jsonschema:"Last tick that came."`
	LastOutcome    *ledger.Outcome `json:"last_outcome" jsonschema:"Its outcome."`
	LastReplica    *string         `json:"last_replica" jsonschema:"Replica that ran it."`
	LastSuccess    *string         `json:"last_success" jsonschema:"Last tick that succeeded; null: unknown, or none."`
	SuccessDropped bool            `json:"last_success_dropped,omitempty" jsonschema:"True: the ledger has dropped the record of last_success, which then is when it was due or requested. Else missing."`
	Unsuccessful   int             `json:"unsuccessful" jsonschema:"Ticks since then that did not succeed, without those that were skipped, run or cannot be read; at least so many if last_success is null or dropped."`
	Published      *string         `json:"published" jsonschema:"When a replica last published this version; replicas repeat it every few minutes."`
	Since          *string         `json:"since" jsonschema:"Since when replicas serve this version, without another one in between; null from older releases."`
	PublishedBy    *string         `json:"published_by" jsonschema:"That replica."`
	Key            string          `json:"key" jsonschema:"First name of the job, by which the store knows it."`
	Hash           *string         `json:"hash" jsonschema:"Version of the job: a hash of its settings."`
	Paused         *string         `json:"paused" jsonschema:"Why its ticks are skipped; null: they are not."`
	Live           bool            `json:"live" jsonschema:"A replica serves this version now."`
	Drift          bool            `json:"drift" jsonschema:"Other replicas serve another version."`

	// Info is what was published, Standing how its latest ticks ended.
	Info     roster.JobInfo `json:"-"`
	Standing Standing       `json:"-"`
}

// Trouble says how many ticks in a row did not succeed, "" if the last outcome says all.
func (j Job) Trouble() string {
	last := Text(j.LastOutcome)
	open := last == string(ledger.Skipped) || last == string(ledger.Running)
	switch {
	case j.Unsuccessful == 0, j.Unsuccessful == 1 && !open:
		return ""
	case j.LastSuccess == nil || j.SuccessDropped:
		return fmt.Sprintf("at least %d without success", j.Unsuccessful)
	}
	return fmt.Sprintf("%d without success", j.Unsuccessful)
}

// jobs lists the versions of all jobs, or of the named ones, with the last tick of each. One
// request reads the last records of all jobs, and one more of those that did not succeed. See
// markPaused for pauses.
func (r Reader) jobs(ctx context.Context, d Directory, names ...string) ([]Job, error) {
	now, versions := time.Now(), d.of(names)
	ask, keys := make([]ledger.Stretch, len(versions)), make([]string, len(versions))
	for i, v := range versions {
		keys[i] = v.StoredAs()
		ask[i] = ledger.Stretch{Job: keys[i], Limit: lastRecords}
	}
	ends, err := r.Records.Ledger.Skim(ctx, ask, true)
	if err != nil {
		return nil, err
	}
	standing, err := r.standings(ctx, keys, ends)
	if err != nil {
		return nil, err
	}
	rows := make([]Job, len(versions))
	for i, v := range versions {
		rows[i] = Job{
			Job: v.Name, Func: Optional(v.Func), Schedule: Optional(v.Schedule), Timezone: Optional(v.Timezone),
			Description: Optional(v.Description), Published: Stamp(v.Published), Since: Stamp(v.Since), PublishedBy: Optional(v.Replica),
			JitterMillis: Optional(v.Jitter.Milliseconds()),
			Key:          v.StoredAs(), Hash: Optional(v.Hash), Live: v.Live, Drift: v.Drift, Info: v.JobInfo, Standing: standing[i],
			LastSuccess: Stamp(standing[i].LastSuccess()), SuccessDropped: !standing[i].GoodDropped.IsZero(), Unsuccessful: standing[i].InARow,
		}
		if s, err := v.Ticks(); err == nil { // else this release cannot read its schedule
			for _, next := range v.Coming(s, now, 1, false) {
				rows[i].Next = Stamp(next.Tick)
			}
		}
		last := ends[i].Entries
		if len(last) == 0 && !ends[i].Rest.IsZero() { // its last tick has many attempts
			if last, err = r.Records.Ledger.Ticks(ctx, ledger.Query{Job: ask[i].Job, Limit: 1}); err != nil {
				return nil, err
			}
		}
		if len(last) > 0 {
			rows[i].LastTick, rows[i].LastOutcome = Stamp(last[0].Tick), Optional(last[0].Outcome)
			rows[i].LastReplica = Optional(last[0].Replica)
		}
	}
	return rows, nil
}

// A JobDetail is one job.
type JobDetail struct {
	Job      string    `json:"job" jsonschema:"Its current name."`
	Versions []Job     `json:"versions" jsonschema:"Served versions, or the one served last."`
	Next     []Next    `json:"next" jsonschema:"Next ticks."`
	Open     []Command `json:"open" jsonschema:"Pending requests and pauses."`
	Unknown  *string   `json:"unknown,omitempty" jsonschema:"Why pauses and requests are not known: the nodes are new or have restarted. Else missing."`
}

// nextOfJob is how many next ticks a job shows.
const nextOfJob = 10

// Job returns the job that is or was called name.
func (r Reader) Job(ctx context.Context, name string) (JobDetail, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return JobDetail{}, err
	}
	rows, err := r.jobs(ctx, d, name)
	if err != nil {
		return JobDetail{}, err
	}
	if len(rows) == 0 {
		return JobDetail{}, d.Require(d.Key(name))
	}
	next, err := r.next(d, name, time.Now(), nextOfJob)
	if err != nil {
		return JobDetail{}, err
	}
	open, err := r.OpenCommands(ctx)
	d.markNext(next, open)
	markPaused(rows, open)
	last := slices.MaxFunc(rows, func(x, y Job) int { return x.Info.Published.Compare(y.Info.Published) })
	detail := JobDetail{Job: last.Job, Versions: rows, Next: next, Open: []Command{}, Unknown: Optional(open.Unknown)}
	for _, command := range slices.Concat(open.Pauses, open.Requests) {
		if command.All || command.Job == last.Key || slices.Contains(last.Info.Tags, command.Tag) {
			detail.Open = append(detail.Open, NewCommand(command))
		}
	}
	return detail, err
}

// lastRecords is how many records of a job are read to find its last tick. A tick
// rarely has more.
const lastRecords = 3

// markPaused sets Paused of each job.
func markPaused(rows []Job, open OpenCommands) {
	for i, row := range rows {
		rows[i].Paused = Optional(row.Info.PausedBy(open.Pauses, time.Time{}))
	}
}

// A Next is a planned tick.
type Next struct {
	Job    string  `json:"job"`
	Tick   string  `json:"tick" jsonschema:"Nominal time."`
	Start  *string `json:"start" jsonschema:"Tick plus jitter; null if the tick is excluded."`
	Note   *string `json:"note" jsonschema:"Change of the clocks, or the calendar that excludes the tick."`
	Paused *string `json:"paused" jsonschema:"Why the tick will be skipped, unless the job is resumed; null: it will run."`
}

// Remark returns the note and the pause in words, "" if there is neither.
func (n Next) Remark() string {
	if n.Paused == nil {
		return Text(n.Note)
	}
	return Join("; ", "will be skipped, "+*n.Paused, Text(n.Note))
}

// NewNext returns a planned tick, which starts at start, as a row.
func NewNext(job string, p schedule.Planned, start time.Time) Next {
	row := Next{Job: job, Tick: *Stamp(p.Tick), Note: Optional(p.Note)}
	if p.Excluded {
		return row
	}
	row.Start = Stamp(start)
	if delay := start.Sub(p.Tick); delay > 0 {
		row.Note = Optional(Join("; ", p.Note, "starts "+delay.String()+" later (jitter)"))
	}
	return row
}

// Soonest returns the next tick of each served job, soonest first, with the pauses that are open.
func (r Reader) Soonest(d Directory, open OpenCommands, now time.Time) []Next {
	rows := []Next{}
	for _, u := range r.upcoming(d, d.Keys, now) {
		rows = append(rows, NewNext(u.job.Name, u.next, u.job.Start(u.schedule, u.next.Tick)))
	}
	d.markNext(rows, open)
	return rows
}

// Next lists the next ticks of the named job, or of all, that start after from, soonest
// first. It uses the latest published version of each served job. Excluded ticks are
// left out, paused ones marked.
func (r Reader) Next(ctx context.Context, job string, from time.Time, limit int) ([]Next, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := r.next(d, job, from, limit)
	if err != nil {
		return nil, err
	}
	open, err := r.OpenCommands(ctx)
	d.markNext(rows, open)
	return rows, err
}

// markNext sets Paused of each tick, or says in its note that pauses are not known.
func (d Directory) markNext(rows []Next, open OpenCommands) {
	for i, row := range rows {
		tick, _ := time.Parse(time.RFC3339, row.Tick) // it was written so
		rows[i].Paused = Optional(d.Last[d.Key(row.Job)].PausedBy(open.Pauses, tick))
		if open.Unknown != "" && rows[i].Paused == nil {
			rows[i].Note = Optional(Join("; ", Text(row.Note), "it is not known yet whether it is paused"))
		}
	}
}

// next is Next for callers that have the directory; it does not set Paused. It computes
// the first tick of each job, and further ticks only as they are listed.
func (r Reader) next(d Directory, job string, from time.Time, limit int) ([]Next, error) {
	keys := d.Keys
	if job != "" {
		if err := d.Require(d.Key(job)); err != nil {
			return nil, err
		}
		keys = []string{d.Key(job)}
	}
	soonest := r.upcoming(d, keys, from)
	rows := []Next{}
	for len(soonest) > 0 && len(rows) < limit {
		first := soonest[0]
		rows = append(rows, NewNext(first.job.Name, first.next, first.job.Start(first.schedule, first.next.Tick)))
		soonest = queue(soonest[1:], first, schedule.Preview(first.schedule, first.next.Tick, 1))
	}
	return rows, nil
}

// An upcoming is a job with its next tick that is not listed yet.
type upcoming struct {
	job      roster.Version
	schedule schedule.Schedule
	next     schedule.Planned
}

// upcoming has the first tick of each of the jobs that starts after from, soonest first.
func (r Reader) upcoming(d Directory, keys []string, from time.Time) (soonest []*upcoming) {
	for _, key := range keys {
		v := d.Last[key]
		if !v.Live {
			continue
		}
		if s, ok := r.schedule(v.JobInfo); ok {
			soonest = queue(soonest, &upcoming{job: v, schedule: s}, v.Coming(s, from, 1, false))
		}
	}
	return soonest
}

// lastYear is the last year that RFC 3339 can write.
const lastYear = 9999

// queue adds a job with the first of its ticks, unless it has none or RFC 3339 cannot
// write it.
func queue(list []*upcoming, job *upcoming, ticks []schedule.Planned) []*upcoming {
	if len(ticks) == 0 || job.job.Start(job.schedule, ticks[0].Tick).UTC().Year() > lastYear {
		return list
	}
	job.next = ticks[0]
	i, _ := slices.BinarySearchFunc(list, job, func(x, y *upcoming) int {
		return cmp.Or(x.next.Tick.Compare(y.next.Tick), strings.Compare(x.job.Name, y.job.Name))
	})
	return slices.Insert(list, i, job)
}
