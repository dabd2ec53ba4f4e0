package cmd

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// holdings has one of each kind.
func holdings() []locking.Holding {
	five := func(n int) locking.Votes { return locking.Votes{For: n, Of: 5} }
	return []locking.Holding{
		{
			Name: "customer:4711", Holder: "web-2-91bc", Token: 1880000000000007, Attempt: 1, Since: tick.Add(-1500 * time.Millisecond),
			Left: 13200 * time.Millisecond, On: five(4),
		},
		{Name: "legacy-lock", Left: locking.Endless, On: five(5)},
		{
			Name: "imports", Holder: "web-0-11aa", Tick: tick, Stream: "schedule", Beside: true, Token: 1880000000000011, Attempt: 1,
			Since: tick, Left: 14 * time.Second, On: five(5),
		},
		{
			Name: "imports", Holder: "web-1-4f2a", Tick: tick.Add(-time.Minute), Stream: "schedule", Beside: true, Token: 1880000000000010,
			Attempt: 1, Since: tick.Add(-time.Minute), Left: 11 * time.Second, On: five(5),
		},
		{
			Name: "nightly-report", Stream: "manual", Holder: "web-1-4f2a", Tick: tick.Add(-time.Minute), Token: 1880000000000000, Attempt: 2,
			Mode: locking.AtLeastOnce, Since: tick.Add(-59 * time.Second), Left: 9750 * time.Millisecond, On: five(5),
		},
		{Name: "rebuild", Holder: "web-2-91bc", Tick: tick, Stream: "schedule", Token: 1879999999999000, Attempt: 1, Since: tick, On: five(2), Done: true},
		{Name: "sync", Holder: "web-0-11aa", Tick: tick.Add(-time.Hour), Stream: "schedule", Token: 1870000000000000, Attempt: 1, Since: tick.Add(-time.Hour), On: five(0)},
	}
}

func TestGoldenLocks(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "table"} {
		cmdtest.Golden(t, "locks."+format, printed(t, lockListing(view.LockRows(holdings()), tick), format))
	}
	var all strings.Builder
	for _, row := range view.LockRows(holdings()[:5]) {
		all.WriteString(released(row) + "\n")
	}
	cmdtest.Golden(t, "locks_release.txt", all.String())
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
	o := operator{t, []string{"-c", config, "--set", "redis/node_timeout=700ms"}}
	initNew(t, config)
	r := campaigntest.Start(t, config, "a", "--set", "scheduler/drain_timeout=100ms")
	var held view.Lock
	eventually(t, "the run holds its lock", func() bool {
		rows := ask[view.Lock](o, "locks")
		if len(rows) == 1 && rows[0].State == "held" {
			held = rows[0]
		}
		return held.Token != nil
	})
	if held.Job != "hang" || output.Dash(held.Holder) != "a" || held.Tick == nil || output.Dash(held.OnCrash) != "skip" || held.LeftMillis == nil || *held.LeftMillis < 1 {
		t.Errorf("the lock of the run: %+v", held)
	}
	o.exits(exitFailed, "may still be served by replica a", "jobs", "forget", "hang")

	said := o.exits(exitDone, "", "locks", "release", "hang", "--reason", "it hangs")
	if !strings.Contains(said, "taken from a with token") || !strings.Contains(said, "its tick is not run again") {
		t.Errorf("locks release says %q", said)
	}
	var evicted locking.Token
	eventually(t, "the ledger has the reason", func() bool {
		for _, row := range ask[view.Run](o, "runs", "hang") {
			if row.Outcome == ledger.LeaseLost && strings.Contains(output.Dash(row.Reason), "released by an operator: it hangs") {
				evicted = *row.Token
			}
		}
		if evicted == 0 { // a starved machine may lose the lease in another way first
			o.quorate("locks", "release", "hang", "--reason", "it hangs")
		}
		return evicted != 0
	})
	eventually(t, "the next tick runs", func() bool {
		rows := ask[view.Run](o, "runs", "hang")
		return len(rows) > 0 && *rows[0].Token > evicted
	})

	r.Signal(syscall.SIGTERM)
	if code := r.ExitCode(); code != exitDone {
		t.Errorf("the replica exits with %d", code)
	}
	var last locking.Token
	eventually(t, "its last run is known", func() bool {
		rows := ask[view.Run](o, "runs", "hang")
		if len(rows) > 0 {
			last = *rows[0].Token
		}
		return last != 0
	})
	eventually(t, "the job is forgotten", func() bool {
		_, _, code := o.quorate("jobs", "forget", "hang")
		return code == exitDone
	})
	eventually(t, "nothing is left of it", func() bool {
		_, _, forget := o.quorate("jobs", "forget", "hang") // again, where a node did not answer
		_, _, runs := o.quorate("runs", "hang")
		_, _, release := o.quorate("locks", "release", "hang", "--reason", "it hangs")
		return forget == exitNotFound && runs == exitNotFound && release == exitNotFound && len(ask[view.Job](o, "jobs")) == 0
	})

	campaigntest.Start(t, config, "b")
	eventually(t, "the job is back, with a larger token", func() bool {
		rows := ask[view.Lock](o, "locks")
		if len(rows) == 0 || rows[0].Token == nil {
			return false
		}
		if *rows[0].Token <= last {
			t.Fatalf("token %d after %d was forgotten", *rows[0].Token, last)
		}
		return true
	})
}

// An operator runs commands on a cluster, and again where the nodes are too
// slow to answer, which a busy machine may make them.
type operator struct {
	*testing.T
	flags []string
}

func (o operator) quorate(args ...string) (stdout, stderr string, code int) {
	o.Helper()
	return quorate(o.T, append(args, o.flags...)...)
}

// exits wants the exit code and a text on standard error, and returns the output.
func (o operator) exits(want int, says string, args ...string) (stdout string) {
	o.Helper()
	eventually(o.T, "a quorum answers", func() bool {
		out, stderr, code := o.quorate(args...)
		if stdout = out; code == exitNoQuorum && want != exitNoQuorum {
			return false
		}
		if code != want || !strings.Contains(stderr, says) {
			o.Errorf("quorate %v: exit code %d, %q, want %d and %q", args, code, stderr, want, says)
		}
		return true
	})
	return stdout
}

// ask returns the rows of a listing.
func ask[R any](o operator, args ...string) (rows []R) {
	o.Helper()
	text := o.exits(exitDone, "", append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		o.Fatalf("quorate %v: %v in %s", args, err, text)
	}
	return rows
}

// TestForgetPublishedOnly: a job that never ran leaves nothing but its line in
// the listing, which goes; one that a replica took over meanwhile stays. Its pause
// stays, and can be ended.
func TestForgetPublishedOnly(t *testing.T) {
	t.Parallel()
	config := writeConfig(t, redistest.StartN(t, 1), "")
	initNew(t, config)
	o := operator{t, []string{"-c", config, "--set", "redis/node_timeout=700ms"}}
	now := time.Now()
	err := (&cli{config: config, set: o.flags[3:]}).withStore(t.Context(), func(s *cluster.Store) error {
		never := []roster.JobInfo{{Name: "never", Schedule: "@yearly", Replica: "gone", Published: now}}
		eventually(t, "the job is published, and an early replica lives", func() bool {
			_, err := s.Control.Records.Roster.Beat(t.Context(), roster.Replica{ID: "early", Started: now.Add(-time.Hour)})
			return err == nil && s.Control.Records.Roster.Publish(t.Context(), never) == nil
		})
		o.exits(exitFailed, "replica early", "jobs", "forget", "never")
		eventually(t, "it has left", func() bool { return s.Control.Records.Roster.Leave(t.Context(), roster.Replica{ID: "early"}) == nil })
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	o.exits(exitDone, "", "pause", "never", "--reason", "it must not run")
	o.exits(exitDone, "", "jobs", "forget", "never")
	o.exits(exitNotFound, "never", "jobs", "forget", "never")
	o.exits(exitNotFound, "never", "trigger", "never")
	o.exits(exitDone, "", "resume", "never") // its pause has stayed
	o.exits(exitNotFound, "never", "resume", "never")
}

// TestLockRowsAreWhole: every field is there, null where there is nothing.
func TestLockRowsAreWhole(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(view.LockRows([]locking.Holding{{Name: "x", Left: locking.Endless}})[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"job":"x","state":"unfinished","holder":null,"tick":null,"stream":null,"beside":false,"token":null,"attempt":null,"on_crash":null,"since":null,"left_ms":null,"nodes":"0/0","done":false,"void":false}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}
