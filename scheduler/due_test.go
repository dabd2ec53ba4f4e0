package scheduler

import (
	"container/heap"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A dueQueue yields jobs in the order of their starts, after any changes.
func TestDueQueueKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q dueQueue
		var in []*jobState
		start := rapid.Map(rapid.IntRange(0, 6), func(s int) time.Time { return time.Unix(int64(s), 0).UTC() })
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				at := start.Draw(t, "start")
				j := &jobState{next: due{at: at}}
				heap.Push(&q, j)
				in = append(in, j)
			},
			"remove": func(t *rapid.T) {
				if len(in) == 0 {
					t.Skip("nothing to remove")
				}
				i := rapid.IntRange(0, len(in)-1).Draw(t, "which")
				heap.Remove(&q, in[i].position)
				in = slices.Delete(in, i, i+1)
			},
			"": func(t *rapid.T) {
				first := q.first()
				if (first == nil) != (len(in) == 0) {
					t.Fatalf("first is %v of %d jobs", first, len(in))
				}
				for _, j := range in {
					if j.next.start().Before(first.next.start()) {
						t.Fatalf("first starts at %v, another at %v", first.next.start(), j.next.start())
					}
				}
			},
		})
		for n, last := len(in), (time.Time{}); n > 0; n-- {
			j := q.first()
			if j == nil || j.next.start().Before(last) {
				t.Fatalf("%d jobs are left, after %v comes %+v", n, last, j)
			}
			last = j.next.start()
			heap.Remove(&q, j.position)
		}
		if q.first() != nil {
			t.Fatal("a job that was removed is first")
		}
	})
}
