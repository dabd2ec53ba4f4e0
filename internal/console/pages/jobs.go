package pages

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// jobsPage lists jobs.
type jobsPage struct {
	Jobs []jobRow
	More string // next page, or ""

	Unknown *string // what is not known of them
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
	shown := jobsPage{More: v.more(p.Next), Unknown: p.Unknown}
	for _, j := range p.Items {
		shown.Jobs = append(shown.Jobs, newJobRow(j))
	}
	return shown, nil
}

// jobPage shows one job.
type jobPage struct {
	api.JobDetail
	Rows    []jobRow
	Ticks   []view.Tick
	Strip   []view.Tick // the same, oldest first
	Running int
	Paused  string
}

// ticksOfJob is how many latest ticks the page shows.
const ticksOfJob = "30"

func loadJob(ctx context.Context, v *visit) (any, error) {
	detail, err := read[api.JobDetail](ctx, v, "/jobs/{job}", nil)
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
		v.ofJob(j.Timezone)
		shown.Rows = append(shown.Rows, newJobRow(j))
		shown.Paused = view.Text(j.Paused)
	}
	for _, t := range ticks.Items {
		if t.Outcome == ledger.Running {
			shown.Running++
		}
	}
	return shown, nil
}

// ticksPage lists ticks of all jobs, or of one.
type ticksPage struct {
	Job      string
	Ticks    []view.Tick
	More     string
	Outcomes []string // options
	Triggers []string
	Codes    []string
	Filtered bool
}

func loadTicks(ctx context.Context, v *visit) (any, error) {
	query := v.only("outcome", "trigger", "reason", "since", "cursor")
	choices := func(name string) []string { return v.p.api.Choices("/ticks", name) }
	shown := ticksPage{Job: v.query.Get("job"), Outcomes: choices("outcome"), Triggers: choices("trigger"), Codes: choices("reason"), Filtered: len(query) > 0}
	query.Set("limit", "50")
	path, in := "/ticks", []string(nil)
	if shown.Job != "" {
		path, in = "/jobs/{job}/ticks", []string{"job", shown.Job}
	}
	p, err := rows[view.Tick](ctx, v, path, query, in...)
	shown.Ticks, shown.More = p.Items, v.more(p.Next)
	return shown, err
}
