package listing

import (
	"cmp"
	"container/heap"
	"context"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Next is a planned tick.
type Next struct {
	Job   string  `json:"job"`
	Tick  string  `json:"tick"`
	Start *string `json:"start"` // tick plus jitter; null if the tick is excluded
	Note  *string `json:"note"`
	// Paused is why the tick will be skipped unless the job is resumed; null: it is not.
	Paused *string `json:"paused"`
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
// left out, paused ones marked. With a *ledger.PartialError jobs are missing.
func (r Reader) Next(ctx context.Context, job string, from time.Time, limit int) ([]Next, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := r.NextIn(d, job, from, limit)
	if IgnorePartial(err) != nil || r.Acts == nil {
		return rows, err
	}
	open, missing := r.Acts.Open(ctx)
	if IgnorePartial(missing) != nil {
		return nil, missing
	}
	d.MarkNext(rows, open.Pauses)
	return rows, cmp.Or(err, missing)
}

// MarkNext sets Paused of each tick.
func (d Directory) MarkNext(rows []Next, pauses []acts.Act) {
	for i, row := range rows {
		rows[i].Paused = Optional(d.Last[d.Key(row.Job)].PausedBy(pauses))
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
	var soonest upcomingHeap
	for _, key := range keys {
		v := d.Last[key]
		if !v.Live {
			continue
		}
		if s, ok := r.schedule(v.JobInfo); ok {
			if c := (&upcoming{job: v, schedule: s}); c.take(v.Coming(s, from, 1)) {
				soonest = append(soonest, c)
			}
		}
	}
	heap.Init(&soonest)
	rows := []Next{}
	for len(soonest) > 0 && len(rows) < limit {
		first := soonest[0]
		rows = append(rows, NewNext(first.job.Name, first.next, first.job.Start(first.schedule, first.next.Tick)))
		if first.take(schedule.Preview(first.schedule, first.next.Tick, 1)) {
			heap.Fix(&soonest, 0)
		} else {
			heap.Pop(&soonest)
		}
	}
	return rows, d.Gap
}

// A upcoming is a job with its next tick that is not listed yet.
type upcoming struct {
	job      scheduler.Version
	schedule schedule.Schedule
	next     schedule.Planned
}

// lastYear is the last year that RFC 3339 can write.
const lastYear = 9999

// take moves to the first tick of a list; false if there is none, or RFC 3339 cannot
// write it.
func (c *upcoming) take(list []schedule.Planned) bool {
	if len(list) == 0 || c.job.Start(c.schedule, list[0].Tick).UTC().Year() > lastYear {
		return false
	}
	c.next = list[0]
	return true
}

// upcomingHeap is a heap of jobs, the soonest first.
type upcomingHeap []*upcoming

func (c upcomingHeap) Len() int      { return len(c) }
func (c upcomingHeap) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

func (c upcomingHeap) Less(i, j int) bool {
	return cmp.Or(c[i].next.Tick.Compare(c[j].next.Tick), strings.Compare(c[i].job.Name, c[j].job.Name)) < 0
}

// Push implements heap.Interface.
func (c *upcomingHeap) Push(x any) { *c = append(*c, x.(*upcoming)) }

// Pop implements heap.Interface.
func (c *upcomingHeap) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
