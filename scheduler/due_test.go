package scheduler

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A dueQueue yields jobs in the order of their starts, after any changes. One job of those
// with the same start orders all.
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
				q.add(j)
				in = append(in, j)
			},
			"remove": func(t *rapid.T) {
				if len(in) == 0 {
					t.Skip("nothing to remove")
				}
				i := rapid.IntRange(0, len(in)-1).Draw(t, "which")
				q.remove(in[i])
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
			q.remove(j)
		}
		if q.first() != nil {
			t.Fatal("a job that was removed is first")
		}
	})
}

// Jobs with the same start need one place in the heap.
func TestDueQueueHasOneOfThoseThatComeTogether(t *testing.T) {
	t.Parallel()
	var q dueQueue
	second := func(s int) due { return due{at: time.Unix(int64(s), 0).UTC()} }
	for i := range 1000 {
		q.add(&jobState{next: second(i % 10)})
	}
	for range 5000 { // each moves on by ten seconds, five times
		j := q.first()
		q.remove(j)
		j.next.at = j.next.at.Add(10 * time.Second)
		q.add(j)
	}
	if n := len(q.heads); n != 10 {
		t.Errorf("%d heads for 10 instants", n)
	}
	if at := q.first().next.start(); !at.Equal(time.Unix(50, 0)) {
		t.Errorf("the first is due at %v", at)
	}
}
