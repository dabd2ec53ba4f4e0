package pages

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// jobsPage lists jobs.
type jobsPage struct {
	view.Page[view.Job]
	Rows []jobRow // of its items
}

// A jobRow is one version of a job.
type jobRow struct {
	view.Job
	Words string // its schedule
	// Jitter is the largest delay of a tick, and Starts when the next tick starts.
	Jitter string
	Starts time.Time
}

func newJobRow(j view.Job) jobRow {
	row := jobRow{Job: j}
	if s, err := j.Info.Ticks(); err == nil {
		row.Words = schedule.Describe(s)
		if next := view.Time(j.Next); j.Info.Jitter > 0 && !next.IsZero() {
			row.Starts = j.Info.Start(s, next)
		}
	}
	if j.Info.Jitter > 0 {
		row.Jitter = view.Span(j.Info.Jitter)
	}
	return row
}

func loadJobs(ctx context.Context, v *visit) (any, error) {
	p, err := rows[view.Job](ctx, v, "/jobs", v.only("q", "cursor"))
	if err != nil {
		return nil, err
	}
	shown := jobsPage{Page: p}
	for _, j := range p.Items {
		shown.Rows = append(shown.Rows, newJobRow(j))
	}
	return shown, nil
}

// jobPage shows one job.
type jobPage struct {
	view.JobDetail
	Rows    []jobRow
	Ticks   []view.Tick
	Strip   []view.Tick // the same, oldest first
	Running bool
	Paused  string
}

// ticksOfJob is how many latest ticks the page shows.
const ticksOfJob = "30"

func loadJob(ctx context.Context, v *visit) (any, error) {
	detail, err := read[view.JobDetail](ctx, v, "/jobs/{job}", nil)
	if err != nil {
		return nil, err
	}
	v.Title = detail.Job
	ticks, err := rows[view.Tick](ctx, v, "/jobs/{job}/ticks", url.Values{"limit": {ticksOfJob}})
	if err != nil {
		return nil, err
	}
	shown := jobPage{JobDetail: detail, Ticks: ticks.Items, Strip: slices.Clone(ticks.Items)}
	slices.Reverse(shown.Strip)
	for _, j := range detail.Versions {
		v.useJobZone(j.Timezone)
		shown.Rows = append(shown.Rows, newJobRow(j))
		shown.Paused = view.Text(j.Paused)
	}
	shown.Running = slices.ContainsFunc(ticks.Items, func(t view.Tick) bool { return t.Outcome == ledger.Running })
	return shown, nil
}

// loadTicks lists the ticks of all jobs, or of one.
func loadTicks(ctx context.Context, v *visit) (any, error) {
	query := v.only("outcome", "trigger", "reason", "since", "until", "cursor")
	query.Set("limit", "50")
	if job := v.Value("job"); job != "" {
		return rows[view.Tick](ctx, v, "/jobs/{job}/ticks", query, "job", job)
	}
	return rows[view.Tick](ctx, v, "/ticks", query)
}
