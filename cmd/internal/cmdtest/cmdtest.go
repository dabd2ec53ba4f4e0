// Package cmdtest has what tests of commands share: golden files and ledger entries.
package cmdtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Golden compares output with a golden file.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run the test with -update\n--- got\n%s--- want\n%s", path, got, want)
	}
}

// Tick is a tick close to all entries.
var Tick = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

// Entries has one entry of each kind: a run that succeeded, one that failed, a running
// one, and ticks that did not run.
func Entries() []ledger.Entry {
	claim := func(n int, outcome ledger.Outcome) ledger.Entry {
		at := Tick.Add(time.Duration(-n) * time.Minute)
		return ledger.Entry{
			Job: "nightly-report", Tick: at, Token: locking.Token(1880000000000000 - n), Attempt: 1, Calls: 1,
			Trigger: ledger.BySchedule, Replica: "web-1-4f2a", Outcome: outcome, Hash: "3f786850e387",
			Started: at.Add(12 * time.Millisecond), Finished: at.Add(2512 * time.Millisecond),
			Lease: ledger.Lease{Votes: locking.Votes{For: 5, Of: 5}},
		}
	}
	failed := claim(2, ledger.Failed)
	failed.Error = "exit status 3: no space left on device"
	failed.Votes.For = 3
	interrupted := claim(3, ledger.Interrupted)
	interrupted.Finished, interrupted.Calls, interrupted.Votes = time.Time{}, 0, locking.Votes{}
	interrupted.Reason = ledger.Reason{Code: ledger.CodeInterrupted}
	return []ledger.Entry{
		claim(1, ledger.Succeeded), failed, interrupted,
		{
			Job: "nightly-report", Tick: Tick.Add(-4 * time.Minute), Trigger: ledger.BySchedule, Outcome: ledger.Skipped,
			Reason: ledger.Reason{Code: ledger.CodeOverlap, Details: &ledger.Details{
				Holder: "web-1-4f2a", Tick: Tick.Add(-5 * time.Minute), Until: Tick.Add(-3*time.Minute - 48*time.Second),
			}},
		},
		{Job: "nightly-report", Tick: Tick.Add(-5 * time.Minute), Trigger: ledger.BySchedule, Outcome: ledger.Missed, Reason: ledger.Reason{Code: ledger.CodeNoQuorum, Details: &ledger.Details{Text: "2 of 5 nodes answered"}}},
	}
}
