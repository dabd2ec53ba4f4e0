package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// A dueQueue orders jobs by the start of their next tick. It is a heap.
type dueQueue []*jobState

// first is the job with the next tick, nil if none has one.
func (q dueQueue) first() *jobState {
	if len(q) == 0 {
		return nil
	}
	return q[0]
}

// any reports whether a tick is due.
func (q dueQueue) any(now time.Time) bool { return len(q) > 0 && !q[0].next.start().After(now) }

// Len implements heap.Interface.
func (q dueQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q dueQueue) Less(i, j int) bool { return q[i].next.start().Before(q[j].next.start()) }

// Swap implements heap.Interface.
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].position, q[j].position = i, j
}

// Push implements heap.Interface.
func (q *dueQueue) Push(x any) {
	j := x.(*jobState)
	j.position = len(*q)
	*q = append(*q, j)
}

// Pop implements heap.Interface.
func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return j
}

// A due is the stored part of a job's next tick. Most jobs have no other state.
type due struct {
	at    time.Time
	delay time.Duration // of its start
	gap   time.Duration // before the tick after it; 0: there is none
}

// dueOf is the stored part of t. Durations overflow after 292 years; no schedule reaches
// that.
func dueOf(t job.Tick) due {
	d := due{at: t.At, delay: t.Start.Sub(t.At)}
	if !t.Next.IsZero() {
		d.gap = t.Next.Sub(t.At)
	}
	return d
}

func (d due) isZero() bool { return d.at.IsZero() }

// start is when the tick may first be claimed.
func (d due) start() time.Time { return d.at.Add(d.delay) }

// next is the tick after it, zero if there is none.
func (d due) next() time.Time {
	if d.gap == 0 {
		return time.Time{}
	}
	return d.at.Add(d.gap)
}

// tick is the job's next tick.
func (j *jobState) tick(window time.Duration) job.Tick {
	if j.next.isZero() {
		return job.Tick{}
	}
	return j.TickBefore(j.next.next(), j.next.at, window)
}
