package listing

import (
	"cmp"
	"container/heap"
	"context"
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
	// Paused is why the tick will be skipped if nobody resumes the job before it;
	// null if it is not paused.
	Paused *string `json:"paused"`
}

// Remark is what is to be said of the tick, "" if nothing is.
func (n Next) Remark() string {
	if n.Paused == nil {
		return Text(n.Note)
	}
	return strings.TrimSuffix("will be skipped, "+*n.Paused+"; "+Text(n.Note), "; ")
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

// Next lists the next ticks of the named job, or of all, that start after from, soonest
// first, as the replicas have published their schedules: of each job that is
// served, by the version that was published last. What calendars take away is
// left out, what is paused is marked. With a *scheduler.PartialError jobs are missing.
func (r Reader) Next(ctx context.Context, job string, from time.Time, limit int) ([]Next, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := r.NextIn(d, job, from, limit)
	if Whole(err) != nil || r.Acts == nil {
		return rows, err
	}
	open, missing := r.Acts.Open(ctx)
	if Whole(missing) != nil {
		return nil, missing
	}
	d.MarkNext(rows, open.Pauses)
	return rows, cmp.Or(err, missing)
}

// MarkNext says of each tick whether a pause makes it be skipped.
func (d Directory) MarkNext(rows []Next, pauses []scheduler.Act) {
	for i, row := range rows {
		rows[i].Paused = Optional(d.Last[d.Key(row.Job)].PausedBy(pauses))
	}
}

// NextIn is Next for who has read the directory, without marks. Of each job the first tick is
// computed, and others only as they are listed.
func (r Reader) NextIn(d Directory, job string, from time.Time, limit int) ([]Next, error) {
	keys := d.Keys
	if job != "" {
		if err := d.Require(d.Key(job)); err != nil {
			return nil, err
		}
		keys = []string{d.Key(job)}
	}
	var coming coming
	for _, key := range keys {
		v := d.Last[key]
		if !v.Live {
			continue
		}
		if s, ok := r.schedule(v.JobInfo); ok {
			if c := (&comer{job: v, schedule: s}); c.take(v.Coming(s, from, 1)) {
				coming = append(coming, c)
			}
		}
	}
	heap.Init(&coming)
	rows := []Next{}
	for len(coming) > 0 && len(rows) < limit {
		first := coming[0]
		rows = append(rows, NewNext(first.job.Name, first.next, first.job.Start(first.schedule, first.next.Tick)))
		if first.take(scheduler.Preview(first.schedule, first.next.Tick, 1)) {
			heap.Fix(&coming, 0)
		} else {
			heap.Pop(&coming)
		}
	}
	return rows, d.Gap
}

// A comer is a job and its next tick that is not listed yet.
type comer struct {
	job      scheduler.Version
	schedule scheduler.Schedule
	next     scheduler.Planned
}

// lastYear is the last one that a time in RFC 3339 can be in.
const lastYear = 9999

// take goes to the first tick of a list; false if there is none that can be written.
func (c *comer) take(list []scheduler.Planned) bool {
	if len(list) == 0 || c.job.Start(c.schedule, list[0].Tick).UTC().Year() > lastYear {
		return false
	}
	c.next = list[0]
	return true
}

// coming is a heap of jobs, the soonest first.
type coming []*comer

func (c coming) Len() int      { return len(c) }
func (c coming) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

func (c coming) Less(i, j int) bool {
	return cmp.Or(c[i].next.Tick.Compare(c[j].next.Tick), strings.Compare(c[i].job.Name, c[j].job.Name)) < 0
}

// Push implements heap.Interface.
func (c *coming) Push(x any) { *c = append(*c, x.(*comer)) }

// Pop implements heap.Interface.
func (c *coming) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
