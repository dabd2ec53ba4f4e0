package cmd

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
)

// holdings has one of each kind.
func holdings() []redlock.Holding {
	five := func(n int) locking.Votes { return locking.Votes{For: n, Of: 5} }
	return []redlock.Holding{
		{
			Name: "customer:4711", Holder: "web-2-91bc", Token: 1880000000000007, Attempt: 1, Since: tick.Add(-1500 * time.Millisecond),
			Left: 13200 * time.Millisecond, On: five(4),
		},
		{Name: "legacy-lock", Left: redlock.Endless, On: five(5)},
		{
			Name: "nightly-report", Holder: "web-1-4f2a", Tick: tick.Add(-time.Minute), Token: 1880000000000000, Attempt: 2,
			Mode: locking.AtLeastOnce, Since: tick.Add(-59 * time.Second), Left: 9750 * time.Millisecond, On: five(5),
		},
		{Name: "rebuild", Holder: "web-2-91bc", Tick: tick, Token: 1879999999999000, Attempt: 1, Since: tick, On: five(2), Done: true},
		{Name: "sync", Holder: "web-0-11aa", Tick: tick.Add(-time.Hour), Token: 1870000000000000, Attempt: 1, Since: tick.Add(-time.Hour), On: five(0)},
	}
}

func TestGoldenLocks(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "table"} {
		golden(t, "locks."+format, printed(t, lockListing(holdings(), tick), format))
	}
	var all strings.Builder
	for _, h := range holdings()[:3] {
		all.WriteString(released(h) + "\n")
	}
	golden(t, "locks_release.txt", all.String())
}

// TestForceRelease: an operator sees a run that hangs, takes its lock away, and
// finds it in the ledger with the reason; once the job has gone from the
// configuration, it is forgotten; and if it comes back, its tokens have grown.
func TestForceRelease(t *testing.T) {
	t.Parallel()
	config := writeConfig(t, redistest.StartN(t, 3), `
jobs:
  hang:
    func: exec
    schedule: "@every 1s"
    params: {command: [sleep, "600"]}
`)
	initNew(t, config)
	r := startReplica(t, config, "a", "--set", "scheduler/drain_timeout=100ms")
	on := []string{"-c", config}
	var held lockRow
	eventually(t, "the run holds its lock", func() bool {
		rows := list[lockRow](t, append([]string{"locks"}, on...)...)
		if len(rows) == 1 && rows[0].State == "held" {
			held = rows[0]
		}
		return held.Token != nil
	})
	if held.Job != "hang" || dash(held.Holder) != "a" || held.Tick == nil || dash(held.OnCrash) != "skip" || held.LeftMillis == nil || *held.LeftMillis < 1 {
		t.Errorf("the lock of the run: %+v", held)
	}
	mustExit(t, exitFailed, "may still be served by replica a", append([]string{"jobs", "forget", "hang"}, on...)...)

	stdout := mustExit(t, exitDone, "", append([]string{"locks", "release", "hang", "--reason", "it hangs"}, on...)...)
	if !strings.Contains(stdout, "taken from a with token") || !strings.Contains(stdout, "its tick is not run again") {
		t.Errorf("locks release says %q", stdout)
	}
	eventually(t, "the ledger has the reason, and the job runs again", func() bool {
		rows := list[runRow](t, append([]string{"runs", "hang"}, on...)...)
		last := rows[len(rows)-1]
		return len(rows) > 1 && *last.Token == *held.Token && last.Tick == *held.Tick &&
			last.Outcome == scheduler.LeaseLost && strings.Contains(dash(last.Reason), "released by an operator: it hangs")
	})

	r.signal(syscall.SIGTERM)
	if code := r.exitCode(); code != exitDone {
		t.Errorf("the replica exits with %d", code)
	}
	last := *list[runRow](t, append([]string{"runs", "hang"}, on...)...)[0].Token
	eventually(t, "the job is forgotten", func() bool {
		_, _, code := quorate(t, append([]string{"jobs", "forget", "hang"}, on...)...)
		return code == exitDone
	})
	for _, args := range [][]string{{"jobs", "forget", "hang"}, {"runs", "hang"}, {"locks", "release", "hang", "--reason", "it hangs"}} {
		mustExit(t, exitNotFound, "hang", append(args, on...)...)
	}
	if rows := list[jobRow](t, append([]string{"jobs"}, on...)...); len(rows) > 0 {
		t.Errorf("the forgotten job is listed: %v", rows)
	}

	startReplica(t, config, "b")
	eventually(t, "the job is back, with a larger token", func() bool {
		rows := list[lockRow](t, append([]string{"locks"}, on...)...)
		if len(rows) == 0 || rows[0].Token == nil {
			return false
		}
		if *rows[0].Token <= last {
			t.Fatalf("token %d after %d was forgotten", *rows[0].Token, last)
		}
		return true
	})
}

// mustExit runs a command for its exit code and a part of what it says on
// standard error, and returns its output.
func mustExit(t *testing.T, code int, says string, args ...string) string {
	t.Helper()
	stdout, stderr, got := quorate(t, args...)
	if got != code || !strings.Contains(stderr, says) {
		t.Errorf("quorate %v: exit code %d, %q, want %d and %q", args, got, stderr, code, says)
	}
	return stdout
}

// TestForgetPublishedOnly: a job that never ran leaves nothing but its line in
// the listing, which goes; one that a replica took over meanwhile stays.
func TestForgetPublishedOnly(t *testing.T) {
	t.Parallel()
	config := writeConfig(t, redistest.StartN(t, 1), "")
	initNew(t, config)
	now := time.Now()
	err := testApp().withCluster(t.Context(), &flags{config: config}, func(cl cluster) error {
		publish := func(at time.Time) error {
			return cl.ledger.Publish(t.Context(), []scheduler.JobInfo{{Name: "never", Schedule: "@yearly", Replica: "gone", Published: at}})
		}
		if err := publish(now); err != nil {
			return err
		}
		if _, err := cl.ledger.Beat(t.Context(), scheduler.Replica{ID: "early", Started: now.Add(-time.Hour)}); err != nil {
			return err
		}
		if err := cl.forget(t.Context(), "never", now); err == nil || !strings.Contains(err.Error(), "replica early") {
			t.Errorf("forget = %v, want it refused for replica early", err)
		}
		return errors.Join(cl.ledger.Leave(t.Context(), "early"), cl.forget(t.Context(), "never", now))
	})
	if err != nil {
		t.Error(err)
	}
	mustExit(t, exitNotFound, "never", "jobs", "forget", "never", "-c", config)
}

func testApp() App { return App{Registry: builtins()} }

// TestLockRowsAreWhole: every field is there, null where there is nothing.
func TestLockRowsAreWhole(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(newLockRow(redlock.Holding{Name: "x", Left: redlock.Endless}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"job":"x","state":"unfinished","holder":null,"tick":null,"token":null,"attempt":null,"on_crash":null,"since":null,"left_ms":null,"nodes":"0/0","done":false,"void":false}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}
