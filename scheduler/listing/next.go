package listing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// A Next is a tick to come.
type Next struct {
	Job   string  `json:"job"`
	Tick  string  `json:"tick"`
	Start *string `json:"start"` // the tick and the job's jitter; null if it is excluded
	Note  *string `json:"note"`
}

// NewNext is a planned tick of a job, which starts at start, as a row.
func NewNext(job string, p scheduler.Planned, start time.Time) Next {
	row := Next{Job: job, Tick: *Stamp(p.Tick), Note: Optional(p.Note)}
	if p.Excluded {
		return row
	}
	row.Start = Stamp(start)
	if delay := start.Sub(p.Tick); delay > 0 {
		row.Note = Optional(strings.TrimPrefix(p.Note+"; starts "+delay.String()+" later, by jitter", "; "))
	}
	return row
}

// Next lists the next ticks after from of the named job, or of all, soonest
// first, as the replicas have published their schedules: of each job that is
// served, by the version that was published last. What calendars take away is
// left out. With a *scheduler.PartialError jobs are missing.
func (r Reader) Next(ctx context.Context, job string, from time.Time, limit int) ([]Next, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	return r.NextIn(d, job, from, limit)
}

// NextIn is Next for who has read the directory.
func (r Reader) NextIn(d Directory, job string, from time.Time, limit int) ([]Next, error) {
	keys := d.Keys
	if job != "" {
		if err := d.Require(d.Key(job)); err != nil {
			return nil, err
		}
		keys = []string{d.Key(job)}
	}
	rows := []Next{}
	for _, key := range keys {
		v := d.Last[key]
		s, ok := r.schedule(v.JobInfo)
		if !ok || !v.Live {
			continue
		}
		for _, p := range scheduler.Preview(s, from, limit) {
			rows = append(rows, NewNext(v.Name, p, v.Start(s, p.Tick)))
		}
	}
	slices.SortStableFunc(rows, func(x, y Next) int {
		return cmp.Or(Time(&x.Tick).Compare(Time(&y.Tick)), strings.Compare(x.Job, y.Job))
	})
	return rows[:min(len(rows), limit)], d.Gap
}
