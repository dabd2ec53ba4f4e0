package ledger

import (
	"fmt"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Every tick of eight jobs ran while one of three nodes was down. Then a replica that had
// been stopped notes the older ones as missed, on all three, and the nodes drop old records.
func TestNotesOfTrimmedRunsStayHidden(t *testing.T) {
	t.Parallel()
	minis := redistest.MiniN(t, 3)
	c := connect(t, minis.Cluster())
	const names, keep, ran, noted = 8, 12, 18, 12
	name := func(j int) string { return fmt.Sprint("job-", j) }
	minis.Stop(2)
	for j := range names {
		for n := range ran {
			c.run(t, name(j), n)
		}
	}
	minis.Start(2, true)
	c = open(t, minis.Cluster())
	untrue := 0
	for j := range names {
		for n := range noted {
			e := skipped(name(j), n, "")
			e.Outcome, e.Reason = ledger.Missed, ledger.Reason{Code: ledger.CodeNoQuorum}
			c.record(t, e)
		}
		if err := c.Store(t.Context(), name(j), jobs.History{Keep: keep}); err != nil {
			t.Fatal(err)
		}
		for _, e := range c.ticks(t, name(j)) {
			if !e.Ran() {
				untrue++
			}
		}
	}
	if untrue > 0 {
		t.Errorf("%d ticks that ran are missed", untrue)
	}
}
