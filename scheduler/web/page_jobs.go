package web

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// jobsPage lists jobs.
type jobsPage struct {
	Jobs []jobRow
	More string // where the next page is, "" if there is none
}

// A jobRow is one version of a job.
type jobRow struct {
	listing.Job
	Words string // its schedule
	// Jitter is how much later a tick may start, "" if it does not, and Starts when
	// the next one does.
	Jitter string
	Starts time.Time
}

func newJobRow(j listing.Job) jobRow {
	row := jobRow{Job: j}
	if s, err := j.Info.Ticks(); err == nil {
		row.Words = scheduler.Describe(s)
		if next := listing.Time(j.Next); j.Info.Jitter > 0 && !next.IsZero() {
			row.Starts = j.Info.Start(s, next)
		}
	}
	if j.Info.Jitter > 0 {
		row.Jitter = span(j.Info.Jitter)
	}
	return row
}

func loadJobs(ctx context.Context, v *visit) (any, error) {
	p, err := rows[listing.Job](ctx, v, "/jobs", v.only("q", "cursor"))
	if err != nil {
		return nil, err
	}
	shown := jobsPage{More: v.more(p.Next)}
	for _, j := range p.Items {
		shown.Jobs = append(shown.Jobs, newJobRow(j))
	}
	return shown, nil
}

// more is where a listing goes on.
func (v *visit) more(next *string) string {
	if next == nil {
		return ""
	}
	return v.With("cursor", *next)
}

// jobPage shows one job.
type jobPage struct {
	jobDetail
	Rows    []jobRow
	Ticks   []listing.Tick
	Strip   []listing.Tick // the same, oldest first
	Running int
	Paused  string
}

// ticksOfJob is how many of its latest ticks a job shows.
const ticksOfJob = "30"

func loadJob(ctx context.Context, v *visit) (any, error) {
	detail, err := api[jobDetail](ctx, v, "/jobs/{job}", nil)
	if err != nil {
		return nil, err
	}
	v.Title = detail.Job
	ticks, err := rows[listing.Tick](ctx, v, "/jobs/{job}/ticks", url.Values{"limit": {ticksOfJob}})
	if err != nil {
		return nil, err
	}
	shown := jobPage{jobDetail: detail, Ticks: ticks.Items, Strip: slices.Clone(ticks.Items)}
	slices.Reverse(shown.Strip)
	for _, j := range detail.Versions {
		v.ofJob(j.Timezone)
		shown.Rows = append(shown.Rows, newJobRow(j))
		shown.Paused = listing.Text(j.Paused)
	}
	for _, t := range ticks.Items {
		if t.Outcome == scheduler.Running {
			shown.Running++
		}
	}
	return shown, nil
}
