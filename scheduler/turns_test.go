package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ranked is an attempt of a rank, of a job that is named for it.
func ranked(rank, priority int, at time.Duration) *attempt {
	a := waiter(fmt.Sprintf("rank %d, priority %d, at %v", rank, priority, at), priority, at)
	a.rank = rank
	return a
}

func (w *wish) granted() bool {
	select {
	case <-w.given:
		return true
	default:
		return false
	}
}

// Who waits for a turn goes by rank, then by priority, then by tick.
func TestTurnsGoByRank(t *testing.T) {
	t.Parallel()
	turns := &turns{free: 1}
	if turns.take(ranked(9, 0, 0)) != nil {
		t.Fatal("the first must wait")
	}
	order := []*attempt{ranked(0, 1, time.Hour), ranked(0, 0, 0), ranked(0, 0, time.Second), ranked(1, 9, 0), ranked(2, 0, 0)}
	var waiting []*wish
	for _, i := range []int{3, 1, 4, 0, 2} {
		waiting = append(waiting, turns.take(order[i]))
	}
	for _, a := range order {
		turns.leave()
		i := slices.IndexFunc(waiting, (*wish).granted)
		if i < 0 || waiting[i].attempt != a {
			t.Fatalf("it is not the turn of %s", a.job.Name)
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
}

// Whatever attempts do, a turn is neither lost nor given twice: as many are free
// in the end as in the beginning.
func TestTurnsAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		turns, have := &turns{free: limit}, 0
		var waiting []*wish
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				if w := turns.take(ranked(rapid.IntRange(0, 3).Draw(t, "rank"), 0, 0)); w != nil {
					waiting = append(waiting, w)
				} else {
					have++
				}
			},
			"leave": func(t *rapid.T) {
				if have == 0 {
					t.Skip("nobody has a turn")
				}
				have--
				turns.leave()
			},
			"give up": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "who")
				turns.giveUp(waiting[i]) // also one that was given its turn, and has not noticed
				waiting = slices.Delete(waiting, i, i+1)
			},
			"notice": func(t *rapid.T) {
				for i, w := range slices.Backward(waiting) {
					if w.granted() {
						have++
						waiting = slices.Delete(waiting, i, i+1)
					}
				}
			},
			"": func(t *rapid.T) {
				given, patient := have, 0
				for _, w := range waiting {
					if w.granted() {
						given++
					} else {
						patient++
					}
				}
				if given+turns.free != limit || patient > 0 && turns.free > 0 {
					t.Fatalf("%d turns of %d are given, %d free, and %d wait", given, limit, turns.free, patient)
				}
			},
		})
	})
}
