package scheduler

import (
	"container/heap"
	"time"
)

// A dueHeap orders jobs by their next tick.
type dueHeap []*job

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].next.Before(h[j].next) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}

// Push is for package heap.
func (h *dueHeap) Push(x any) {
	j := x.(*job)
	j.position = len(*h)
	*h = append(*h, j)
}

// Pop is for package heap.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return j
}

// plan adds a job whose first tick comes after now.
func (e *engine) plan(j *job, now time.Time) {
	e.jobs = append(e.jobs, j)
	if j.next = j.Schedule.Next(now); !j.next.IsZero() {
		heap.Push(&e.due, j)
	}
}

// replan brings ticks closer after the wall clock was set back. Ticks that come
// a second time are refused as done by the nodes.
func (e *engine) replan() {
	now := e.clock.wall()
	for _, j := range e.jobs {
		next := j.Schedule.Next(now)
		switch {
		case next.IsZero():
		case j.next.IsZero():
			j.next = next
			heap.Push(&e.due, j)
		case next.Before(j.next):
			j.next = next
			heap.Fix(&e.due, j.position)
		}
	}
}

// advance sets the job's next tick.
func (e *engine) advance(j *job, next time.Time) {
	j.next = next
	if next.IsZero() {
		heap.Remove(&e.due, j.position)
		return
	}
	heap.Fix(&e.due, j.position)
}

// windowEnd is when a tick can no longer be claimed: when the job's next one
// comes, at the latest after window.
func windowEnd(at, next time.Time, window time.Duration) time.Time {
	end := at.Add(window)
	if !next.IsZero() && next.Before(end) {
		return next
	}
	return end
}
