package scheduler

import (
	"container/heap"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// A dueQueue orders jobs by the start of their next tick. Many jobs are due at the same
// instants, so jobs with the same start are usually linked: the heap has one of them, and
// the others cost nothing to order.
type dueQueue struct {
	heads  dueHeap
	recent [64]*jobState // heads that others may join, by a hash of their start
}

// first is the job with the next tick, nil if none has one.
func (q *dueQueue) first() *jobState {
	if len(q.heads) == 0 {
		return nil
	}
	return q.heads[0]
}

// any reports whether a tick is due.
func (q *dueQueue) any(now time.Time) bool {
	first := q.first()
	return first != nil && !first.next.start().After(now)
}

// recentHead is where a head with the start of j is found, if it is still known.
func (q *dueQueue) recentHead(j *jobState) **jobState {
	return &q.recent[job.Scramble(uint64(j.next.start().UnixMilli()))%uint64(len(q.recent))]
}

// add inserts a job that has a next tick.
func (q *dueQueue) add(j *jobState) {
	slot := q.recentHead(j)
	head := *slot
	if head == nil || !head.next.start().Equal(j.next.start()) {
		*slot = j
		heap.Push(&q.heads, j)
		return
	}
	j.before, j.behind = head, head.behind
	if j.behind != nil {
		j.behind.before = j
	}
	head.behind = j
}

// remove removes a job, before its next tick changes.
func (q *dueQueue) remove(j *jobState) {
	if j.behind != nil {
		j.behind.before = j.before
	}
	if j.before != nil {
		j.before.behind = j.behind
	} else {
		q.replace(j, j.behind)
	}
	j.before, j.behind = nil, nil
}

// replace makes the next of its list the head, or removes the head.
func (q *dueQueue) replace(head, next *jobState) {
	if slot := q.recentHead(head); *slot == head {
		*slot = next
	}
	if next == nil {
		heap.Remove(&q.heads, head.position)
		return
	}
	next.position, q.heads[head.position] = head.position, next
}

// A dueHeap implements heap.Interface.
type dueHeap []*jobState

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].next.start().Before(h[j].next.start()) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}

func (h *dueHeap) Push(x any) {
	j := x.(*jobState)
	j.position = len(*h)
	*h = append(*h, j)
}

func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
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
