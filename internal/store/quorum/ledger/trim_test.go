package ledger

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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

// lastGood is the time of the newest dropped success; zero: unknown.
func (c *cluster) lastGood(tb testing.TB, job string) time.Time {
	tb.Helper()
	list, err := c.Skim(tb.Context(), []ledger.Stretch{{Job: job, Limit: 100}}, true)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range list[0].Entries {
		if e.Outcome == ledger.Unreadable {
			tb.Errorf("%v is listed as a tick", e)
		}
	}
	return list[0].TrimmedSuccess
}

// A node whose records were dropped by an older release does not know the last success until it drops a newer
// one. Meanwhile the other nodes may be too few.
func TestUnseenDropsMakeTheLastSuccessUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testUnseenDrops)
}

func testUnseenDrops(t *testing.T) {
	time.Sleep(time.Until(begun)) // in the bubble's time: the ticks of these tests are due
	minis := redistest.MiniN(t, 3)
	c := connect(t, minis.Cluster())
	drop := func(keep int) {
		t.Helper()
		if err := c.Store(t.Context(), "job", jobs.History{Keep: keep}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 6 {
		c.run(t, "job", n)
		synctest.Wait() // a quorum has it now, and the third node, too
	}
	drop(4)
	wantTime(t, "after the first drop", c.lastGood(t, "job"), tick(1))
	olderReleaseDrops := func(node int) {
		t.Helper()
		key := c.set.JobKey("job", "runs")
		list, err := minis.Node(node).ZMembers(key)
		if err != nil || len(list) != 6 {
			t.Fatal(list, err)
		}
		_, err = minis.Node(node).ZRem(key, list[2]) // after those that begin with E
		if err == nil {
			_, err = minis.Node(node).ZAdd(key, float64(tick(2).UnixMilli()), "E")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	olderReleaseDrops(0)
	wantTime(t, "after an older release dropped more on a node", c.lastGood(t, "job"), tick(1))
	olderReleaseDrops(1)
	wantTime(t, "after it did on another one", c.lastGood(t, "job"), time.Time{})
	drop(3)
	wantTime(t, "while two do not know", c.lastGood(t, "job"), time.Time{})
	drop(2)
	wantTime(t, "after all dropped a newer one", c.lastGood(t, "job"), tick(3))
}

func wantTime(t *testing.T, when string, got, want time.Time) {
	t.Helper()
	if !got.Equal(want) {
		t.Errorf("%s: %v, want %v", when, got, want)
	}
}
