package attempt

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// ranked is an attempt with a rank, of a job with the same name.
func ranked(rank, priority int, at time.Duration) *Brief {
	a := waitingBrief(fmt.Sprintf("rank %d, priority %d, at %v", rank, priority, at), priority, at)
	a.rank = rank
	return a
}

func (w *waiter) granted() bool {
	select {
	case <-w.given:
		return true
	default:
		return false
	}
}

// Turns go by rank, then by priority, then by tick.
func TestTurnsGoByRank(t *testing.T) {
	t.Parallel()
	turns := newTurns(1)
	if turns.take(ranked(9, 0, 0)) != nil {
		t.Fatal("the first must wait")
	}
	order := []*Brief{ranked(0, 1, time.Hour), ranked(0, 0, 0), ranked(0, 0, time.Second), ranked(1, 9, 0), ranked(2, 0, 0)}
	var waiting []*waiter
	for _, i := range []int{3, 1, 4, 0, 2} {
		waiting = append(waiting, turns.take(order[i]))
	}
	for _, a := range order {
		turns.leave()
		i := slices.IndexFunc(waiting, (*waiter).granted)
		if i < 0 || waiting[i].Brief != a {
			t.Fatalf("it is not the turn of %s", a.Job.Name)
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
}

// A turn is never lost or given twice: waiting attempts get theirs as soon as there are
// turns, of which at least one remains.
func TestTurnsAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		turns, have := newTurns(limit), 0
		var waiting []*waiter
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
				turns.giveUp(waiting[i]) // also one that has just got its turn
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
			"answer":  func(*rapid.T) { turns.answer() },
			"silence": func(*rapid.T) { turns.silence(time.Now()) },
			"": func(t *rapid.T) {
				given, patient := have, 0
				for _, w := range waiting {
					if w.granted() {
						given++
					} else {
						patient++
					}
				}
				if given != turns.taken || patient > 0 && given < turns.limit || turns.limit < 1 || turns.limit > limit {
					t.Fatalf("%d turns are given, %d count as taken, of %d and at most %d, and %d wait", given, turns.taken, turns.limit, limit, patient)
				}
			},
		})
	})
}

// The number of turns follows the answers: a silence halves it, once for all concurrent
// requests, and answers restore it one by one, slower with more turns.
func TestTurnsFollowAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, asked := newTurns(100), time.Now()
		want := func(limit int, when string) {
			t.Helper()
			if turns.limit != limit {
				t.Fatalf("%s there are %d turns, want %d", when, turns.limit, limit)
			}
		}
		time.Sleep(time.Second)
		for range 50 {
			turns.silence(asked)
		}
		want(50, "after what was asked together")
		for range 50 {
			time.Sleep(time.Second)
			turns.silence(time.Now())
		}
		want(1, "while nobody answers")
		turns.answer()
		want(2, "after an answer")
		for range 2 + 3 + 4 {
			turns.answer()
		}
		want(5, "after ten answers")
		for range 10_000 {
			turns.answer()
		}
		want(100, "in the end")
	})
}
