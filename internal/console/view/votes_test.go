package view_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Answers that nobody awaited are neither refusals of a claim nor of an extension.
func TestVotesCountAwaitedAnswers(t *testing.T) {
	t.Parallel()
	const g, w, h, u = locking.Granted, locking.NotAwaited, locking.Held, locking.Unreachable
	for _, tc := range []struct {
		answers     []locking.Answer
		votes       string
		granted, of int
		refused     bool
	}{
		{[]locking.Answer{g, w, g, w, g}, "3/3", 3, 3, false},
		{[]locking.Answer{g, h, g, w, g}, "3/4", 3, 4, true},
		{[]locking.Answer{g, u, g, w, g}, "3/4", 3, 4, false}, // a node that is down has not refused
		{[]locking.Answer{g, u, g, h, g}, "3/5", 3, 5, true},
		{[]locking.Answer{g, u, g, u, g}, "3/5", 3, 5, false},
		{[]locking.Answer{g, locking.Abstained, g, w, g}, "3/4", 3, 4, true},
		{[]locking.Answer{g, g, g, g, g}, "5/5", 5, 5, false},
	} {
		e := ledger.Entry{Job: "j", Token: 1, Outcome: ledger.Succeeded}
		copy(e.Poll.Answers[:], tc.answers)
		for _, a := range tc.answers {
			if a == g {
				e.Votes.For++
			}
		}
		e.Votes.Of = len(tc.answers)
		at := ledger.Beat{At: time.Unix(1, 0), Answers: e.Poll.Answers}
		e.Tick, e.Beats = at.At, &ledger.Beats{Count: 1, Least: at, Last: []ledger.Beat{at}}
		row := view.NewTick(e)
		if beat := row.Beats.Last[0]; view.Text(row.Votes) != tc.votes || *beat.Granted != tc.granted || *beat.Nodes != tc.of || beat.Refused != tc.refused {
			t.Errorf("%v: votes %s, extension %d of %d, refused %t, want %+v", tc.answers, view.Text(row.Votes), *beat.Granted, *beat.Nodes, beat.Refused, tc)
		}
	}
	for want, votes := range map[string]locking.Votes{"": {}, "3": {For: 3, Of: 5}, "5/5": {For: 5, Of: 5}} {
		if got := view.Votes(ledger.Entry{Lease: ledger.Lease{Votes: votes}}); got != want {
			t.Errorf("without the answers %+v are %q, want %q", votes, got, want)
		}
	}
}
