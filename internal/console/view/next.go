package view

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/schedule"
)

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
	return strings.TrimSuffix("will be skipped, "+*n.Paused+"; "+Text(n.Note), "; ")
}

// NewNext returns a planned tick, which starts at start, as a row.
func NewNext(job string, p schedule.Planned, start time.Time) Next {
	row := Next{Job: job, Tick: *Stamp(p.Tick), Note: Optional(p.Note)}
	if p.Excluded {
		return row
	}
	row.Start = Stamp(start)
	if delay := start.Sub(p.Tick); delay > 0 {
		row.Note = Optional(strings.TrimPrefix(p.Note+"; starts "+delay.String()+" later (jitter)", "; "))
	}
	return row
}

// Next lists the next ticks of the named job, or of all, that start after from, soonest
// first. It uses the latest published version of each served job. Excluded ticks are
// left out, paused ones marked.
func (r Reader) Next(ctx context.Context, job string, from time.Time, limit int) ([]Next, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := r.NextIn(d, job, from, limit)
	if err != nil || r.Acts == nil {
		return rows, err
	}
	open, unknown, err := r.OpenActs(ctx)
	if err != nil {
		return nil, err
	}
	d.MarkNext(rows, open.Pauses, unknown)
	return rows, nil
}

// MarkNext sets Paused of each tick, or says in its note that pauses are not known.
func (d Directory) MarkNext(rows []Next, pauses []acts.Act, unknown string) {
	for i, row := range rows {
		rows[i].Paused = Optional(d.Last[d.Key(row.Job)].PausedBy(pauses))
		if unknown != "" && rows[i].Paused == nil {
			rows[i].Note = Optional(strings.TrimPrefix(Text(row.Note)+"; it is not known yet whether it is paused", "; "))
		}
	}
}

// NextIn is Next for callers that have the directory; it does not set Paused. It computes
// the first tick of each job, and further ticks only as they are listed.
func (r Reader) NextIn(d Directory, job string, from time.Time, limit int) ([]Next, error) {
	keys := d.Keys
	if job != "" {
		if err := d.Require(d.Key(job)); err != nil {
			return nil, err
		}
		keys = []string{d.Key(job)}
	}
	var soonest []*upcoming // sorted
	for _, key := range keys {
		v := d.Last[key]
		if !v.Live {
			continue
		}
		if s, ok := r.schedule(v.JobInfo); ok {
			soonest = queue(soonest, &upcoming{job: v, schedule: s}, v.Coming(s, from, 1))
		}
	}
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
	job      scheduler.Version
	schedule schedule.Schedule
	next     schedule.Planned
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
