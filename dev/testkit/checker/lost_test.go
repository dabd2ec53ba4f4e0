package checker_test

import (
	"testing"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Only commits that a promoted standby lacked may be missing in the ledger. Replica b logged
// its claim of the tick at 40 s, and its end at 42 s.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	missed := checker.Row{Outcome: ledger.Missed, Code: "history_lost"}
	interrupted := checker.Row{Outcome: ledger.Interrupted, Code: "interrupted", Token: 3, Replica: "b"}
	before := checker.Row{Outcome: ledger.Interrupted, Code: "interrupted", Token: 2, Replica: "a"} // of a, which was killed
	for name, tt := range map[string]struct {
		row        checker.Row
		from, to   float64 // what was lost
		frozen     float64 // since when b was frozen until 40 s
		violations int
	}{
		"the claim":                    {missed, 39.5, 43, 50, 0},
		"the claim, logged later":      {missed, 38, 39.5, 50, 0},
		"the claim, logged long after": {missed, 36, 37, 37.5, 0},
		"after the claim":              {missed, 40.5, 43, 50, 3},
		"before the claim":             {missed, 30, 38, 50, 3},
		"the end":                      {interrupted, 40.5, 43, 50, 0},
		"after the end":                {interrupted, 42.5, 43, 50, 2},
		"the claim, and yet there":     {interrupted, 39.5, 40.5, 50, 2},
		"a second claim":               {before, 39.5, 43, 50, 0},
		"before a second claim":        {before, 30, 38, 50, 2},
	} {
		r := honest()
		tt.row.Tick = tick(40)
		*row(&r, 40) = tt.row
		r.Promoted, r.Lost = true, []checker.Span{{From: at(tt.from), To: at(tt.to)}}
		if tt.frozen < 40 {
			r.Incarnations[1].Frozen = []checker.Span{{From: at(tt.frozen), To: at(40)}}
		}
		if violations := checker.Check(r); len(violations) != tt.violations {
			t.Errorf("%s: %v", name, violations)
		}
	}
}
