package scheduler

import "container/heap"

// A dueHeap orders jobs by the start of their next tick.
type dueHeap []*job

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].next.start.Before(h[j].next.start) }
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

// plan adds a job and its next tick, and has its past looked up.
func (e *engine) plan(j *job) {
	j.index = len(e.jobs)
	e.jobs = append(e.jobs, j)
	p := past{job: j.Job, before: e.clock.wall(), why: whyNobody}
	if !j.next.isZero() {
		heap.Push(&e.due, j)
		p.before = j.next.at
	}
	e.hold(j, p)
}

// replan brings ticks closer after the wall clock was set back. Ticks that come
// a second time are refused as done by the nodes.
func (e *engine) replan() {
	now := e.clock.wall()
	for _, j := range e.jobs {
		next := j.firstAfter(now, e.cfg.Window).due()
		switch {
		case next.isZero():
		case j.next.isZero():
			j.next = next
			heap.Push(&e.due, j)
		case next.at.Before(j.next.at):
			j.next = next
			heap.Fix(&e.due, j.position)
		}
	}
}

// advance sets the job's next tick.
func (e *engine) advance(j *job, next due) {
	j.next = next
	if next.isZero() {
		heap.Remove(&e.due, j.position)
		return
	}
	heap.Fix(&e.due, j.position)
}
