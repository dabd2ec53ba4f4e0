package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/replica"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares what was printed with the file that others' scripts may rely
// on being true.
func golden(t *testing.T, name, got string) {
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
		t.Errorf("%s differs; if that is meant, run go test ./cmd -update\n--- got\n%s--- want\n%s", path, got, want)
	}
}

func printed[R any](t *testing.T, l table[R], format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := l.print(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var tick = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

// entries has one of each kind: a run that ended well, one that failed, one
// that goes on, and ticks that did not run.
func entries() []scheduler.Entry {
	claim := func(n int, outcome scheduler.Outcome) scheduler.Entry {
		at := tick.Add(time.Duration(-n) * time.Minute)
		return scheduler.Entry{
			Job: "nightly-report", Tick: at, Token: locking.Token(1880000000000000 - n), Attempt: 1, Tries: 1,
			Trigger: scheduler.BySchedule, Replica: "web-1-4f2a", Outcome: outcome, Hash: "3f786850e387",
			Started: at.Add(12 * time.Millisecond), Finished: at.Add(2512 * time.Millisecond),
			Votes: locking.Votes{For: 5, Of: 5},
		}
	}
	failed := claim(2, scheduler.Failed)
	failed.Error = "exit status 3: no space left on device"
	failed.Votes.For = 3
	interrupted := claim(3, scheduler.Interrupted)
	interrupted.Finished, interrupted.Tries, interrupted.Votes = time.Time{}, 0, locking.Votes{}
	interrupted.Reason = scheduler.Reason{Code: scheduler.CodeInterrupted}
	return []scheduler.Entry{
		claim(1, scheduler.Succeeded), failed, interrupted,
		{
			Job: "nightly-report", Tick: tick.Add(-4 * time.Minute), Trigger: scheduler.BySchedule, Outcome: scheduler.Skipped,
			Reason: scheduler.Reason{Code: scheduler.CodeOverlap, Details: &scheduler.Details{
				Holder: "web-1-4f2a", Tick: tick.Add(-5 * time.Minute), Until: tick.Add(-3*time.Minute - 48*time.Second),
			}},
		},
		{Job: "nightly-report", Tick: tick.Add(-5 * time.Minute), Trigger: scheduler.BySchedule, Outcome: scheduler.Missed, Reason: scheduler.Reason{Code: scheduler.CodeNoQuorum, Details: &scheduler.Details{Text: "2 of 5 nodes answered"}}},
	}
}

func TestGoldenListings(t *testing.T) {
	t.Parallel()
	started := tick.Add(-time.Hour)
	replicas := []listing.Replica{
		listing.NewReplica(scheduler.Replica{
			ID: "web-1-4f2a", Version: "v1.2.3", Host: "web-1", PID: 4711, Started: started, Seen: tick.Add(-2 * time.Second),
			State: scheduler.StateReady, Running: []string{"nightly-report"}, ConfigHash: "3f786850e387550f",
			Labels:      map[string]string{"zone": "a", "disk": "fast"},
			ConfigSince: started, Jobs: new(3), Won: new(int64(1234)), ClockOffset: new(1500 * time.Microsecond),
		}),
		listing.NewReplica(scheduler.Replica{ID: "web-2-91bc", Version: "v1.2.3", Host: "web-2", PID: 12, Started: started, Seen: tick, State: scheduler.StateDraining}),
	}
	jobs := []listing.Job{{
		Job: "nightly-report", Func: listing.Optional("report"), Schedule: listing.Optional("0 2 * * *"), Timezone: listing.Optional("Europe/Paris"),
		Next: listing.Stamp(tick.Add(23 * time.Hour)), JitterMillis: listing.Optional(int64(30_000)), LastTick: listing.Stamp(tick), LastOutcome: listing.Optional(scheduler.Succeeded),
		LastReplica: listing.Optional("web-1-4f2a"), Published: listing.Stamp(started), PublishedBy: listing.Optional("web-1-4f2a"),
		Key: "nightly-report", Hash: listing.Optional("3f786850e387"), Live: true,
	}}
	old, renamed := jobs[0], jobs[0]
	old.Paused = listing.Optional("paused: tag finance by ann@laptop since 2026-12-01T01:00:00Z: the bank is down")
	old.Drift, renamed.Drift = true, true
	old.Job, old.Key = "cleanup", "cleanup"
	renamed.Job, renamed.Key, renamed.Hash = "sweep", "cleanup", listing.Optional("91f0c3aa02de")
	removed := jobs[0]
	removed.Job, removed.Key, removed.Live = "removed", "removed", false
	jobs = append(jobs, old, renamed, removed)
	next := []nextRow{
		{Next: listing.Next{Job: "nightly-report", Tick: *listing.Stamp(tick), Start: listing.Stamp(tick.Add(1500 * time.Millisecond))}, local: "Tue 2026-12-01 03:00:00 CET"},
		{Next: listing.Next{Job: "nightly-report", Tick: *listing.Stamp(tick.Add(24 * time.Hour)), Note: listing.Optional("after the gap")}, local: "Wed 2026-12-02 03:00:00 CET"},
	}
	for _, format := range []string{"json", "table"} {
		golden(t, "ticks."+format, printed(t, tickTable(asRows(entries(), listing.NewTick)), format))
		golden(t, "runs."+format, printed(t, runTable(asRows(entries()[:3], listing.NewRun)), format))
		golden(t, "replicas."+format, printed(t, replicaListing(replicas, tick), format))
		golden(t, "jobs."+format, printed(t, jobListing(jobs, tick), format))
		golden(t, "audit."+format, printed(t, auditListing(acts()), format))
		golden(t, "next."+format, printed(t, nextListing(next), format))
	}
}

// acts has one of each kind, a trigger that was done and one that waits.
func acts() []listing.Act {
	by := func(n int, act scheduler.Act) listing.Act {
		act.ID, act.By, act.At = fmt.Sprint("act", n), "ann@laptop", tick.Add(time.Duration(-n)*time.Minute)
		act.Within = scheduler.DefaultWithin(act.Kind)
		return listing.NewAct(act)
	}
	const job = "nightly-report"
	return []listing.Act{
		by(1, scheduler.Act{Kind: scheduler.ActTrigger, Job: job, Trigger: scheduler.ByManual, Params: json.RawMessage(`{"customer":"acme"}`)}),
		by(2, scheduler.Act{Kind: scheduler.ActTrigger, Job: job, Trigger: scheduler.ByChain, Parent: "load@20261201T020000.000Z", Reason: "its run succeeded", Result: "succeeded", Closed: tick}),
		by(3, scheduler.Act{Kind: scheduler.ActBackfill, Job: job, From: tick.Add(-48 * time.Hour), To: tick, Reason: "the source was wrong", Result: "2 ticks: 1 succeeded, 1 failed", Closed: tick}),
		by(4, scheduler.Act{Kind: scheduler.ActCancel, Job: job, Run: "nightly-report@20261201T020000.000Z", Result: "cancelled on replica web-1-4f2a", Closed: tick}),
		by(5, scheduler.Act{Kind: scheduler.ActResume, All: true}),
		by(6, scheduler.Act{Kind: scheduler.ActPause, Tag: "finance", Reason: "the bank is down"}),
	}
}

func TestEmptyListings(t *testing.T) {
	t.Parallel()
	if got := printed(t, tickTable(nil), "json"); got != "[]\n" {
		t.Errorf("an empty JSON listing is %q, want []", got)
	}
	if got := printed(t, tickTable(nil), "table"); !strings.HasPrefix(got, "no such tick: ") {
		t.Errorf("an empty table is %q, want a sentence", got)
	}
}

func TestGoldenHelp(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, args := range [][]string{
		{},
		{"run"},
		{"dev"},
		{"validate"},
		{"schema"},
		{"next"},
		{"explain"},
		{"jobs"},
		{"ticks"},
		{"runs"},
		{"logs"},
		{"replicas"},
		{"jobs", "forget"},
		{"locks"},
		{"locks", "release"},
		{"nodes"},
		{"top"},
		{"nodes", "init"},
		{"nodes", "check"},
		{"nodes", "change"},
		{"trigger"},
		{"pause"},
		{"resume"},
		{"pauses"},
		{"backfill"},
		{"cancel"},
		{"audit"},
		{"users"},
		{"users", "token"},
		{"users", "password"},
		{"version"},
	} {
		stdout, stderr, code := quorate(t, append(args, "--help")...)
		if code != exitDone || stderr != "" {
			t.Fatalf("quorate %v --help: exit code %d, %s", args, code, stderr)
		}
		if !strings.Contains(stdout, "Examples:") {
			t.Errorf("quorate %v --help shows no example", args)
		}
		all.WriteString("$ quorate " + strings.Join(append(args, "--help"), " ") + "\n" + stdout + "\n")
	}
	golden(t, "help.txt", all.String())
}

func TestUsage(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("redis: {nodes: [\"redis://127.0.0.1:1\"]}\njobs: {a: {func: exec, schedule: \"@daily\", params: {command: [date]}},\n  b: {func: exec, schedule: \"0 2 * * *\", timezone: Europe/Paris, dst: {gap: skip}, exclude: [holidays], jitter: 30m, params: {command: [date]}}}\n"+
		"calendars: {holidays: {dates: [2026-12-25]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{args: []string{"version"}, stdout: "quorate "},
		{args: []string{"pause", "a", "-c", config}, code: exitUsage, stderr: "--reason"},
		{args: []string{"pause", "--reason", "x", "-c", config}, code: exitUsage, stderr: "--tag TAG or --all"},
		{args: []string{"pause", "a", "--all", "--reason", "x", "-c", config}, code: exitUsage, stderr: "--tag TAG or --all"},
		{args: []string{"resume", "a", "--tag", "t", "-c", config}, code: exitUsage, stderr: "--tag TAG or --all"},
		{args: []string{"trigger", "a", "--params", "[1]", "-c", config}, code: exitUsage, stderr: "JSON object"},
		{args: []string{"trigger", "a", "--param", "x", "-c", config}, code: exitUsage, stderr: "key=value"},
		{args: []string{"trigger", "a", "-c", config}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"pause", "--all", "--reason", "x", "-c", config}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"backfill", "a", "--from", "yesterday", "--to", "2026-01-01", "-c", config}, code: exitUsage, stderr: "--from"},
		{args: []string{"backfill", "a", "--from", "2026-01-01", "-c", config}, code: exitUsage, stderr: "--to"},
		{args: []string{"cancel", "a", "-c", config}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"audit", "-c", config}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"audit", "--act", "explode", "-c", config}, code: exitUsage, stderr: "--act explode: write some of trigger,"},
		{args: []string{"audit", "--refused", "maybe", "-c", config}, code: exitUsage, stderr: "--refused maybe: write some of yes,no"},
		{args: []string{"audit", "--since", "yesterday", "-c", config}, code: exitUsage, stderr: "--since yesterday"},
		{args: []string{"__complete", "audit", "--act", ""}, stdout: "release\n"},
		{args: []string{"explain", "0 2 * * 1-5"}, stdout: "Monday to Friday"},
		{args: []string{"explain", "--job", "nightly", "H H * * fri#2"}, stdout: "2nd Friday"},
		{args: []string{"explain", "H 2 * * *"}, code: exitUsage, stderr: "--job NAME"},
		{args: []string{"explain", "0 2 * *"}, code: exitUsage, stderr: "0 2 * *"},
		{args: []string{"explain", "--timezone", "Mars/Phobos", "@daily"}, code: exitUsage, stderr: "Mars/Phobos"},
		{args: []string{"explain", "@daily", "0 12 L * *"}, stdout: "At 00:00 every day, UTC; and at 12:00 on the last day of every month, UTC"},
		{args: []string{"explain", "@daily", "0 12 L * 8"}, code: exitUsage, stderr: "0 12 L * 8"},
		{args: []string{"explain", "--job", "b", "-c", config}, stdout: "At 02:00 every day, Europe/Paris; except by calendar holidays; when clocks change: gap skip, overlap first; each tick starts less than 30m0s later"},
		{args: []string{"explain", "--job", "nosuch", "-c", config}, code: exitNotFound, stderr: `"nosuch" not found`},
		{args: []string{"next", "b", "-n", "1", "-c", config, "--from", "2026-12-24T12:00:00Z"}, stdout: "2026-12-26T01:00:00Z  Sat 2026-12-26 02:00:00 CET  starts "},
		{args: []string{"next", "b", "-n", "1", "--excluded", "-c", config, "--from", "2026-12-24T12:00:00Z"}, stdout: "2026-12-25T01:00:00Z  Fri 2026-12-25 02:00:00 CET  excluded by holidays"},
		{args: []string{"explain"}, code: exitUsage, stderr: "write quorate explain SPEC"},
		{args: []string{"explain", "0", "2", "*", "*", "*"}, code: exitUsage, stderr: `"0 2 * * *"`},
		{args: []string{"completion"}, code: exitUsage, stderr: "completion bash"},
		{args: []string{"completion", "tcsh"}, code: exitUsage, stderr: "completion bash"},
		{args: []string{"nosuch"}, code: exitUsage, stderr: `unknown command "nosuch"`},
		{args: []string{"nodes", "nosuch"}, code: exitUsage, stderr: `unexpected "nosuch"`},
		{args: []string{"ticks"}, code: exitUsage, stderr: "--help"},
		{args: []string{"jobs", "nosuch"}, code: exitUsage, stderr: `unexpected "nosuch"`},
		{args: []string{"jobs", "forget"}, code: exitUsage, stderr: "write quorate jobs forget JOB"},
		{args: []string{"jobs", "forget", "a", "-c", config}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"locks", "-c", config}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"locks", "-o", "xml", "-c", config}, code: exitUsage, stderr: "-o json"},
		{args: []string{"locks", "release", "a", "-c", config}, code: exitUsage, stderr: "--reason"},
		{args: []string{"locks", "release", "--reason", "x", "-c", config}, code: exitUsage, stderr: "write quorate locks release JOB"},
		{args: []string{"locks", "release", "a", "--reason", "it hangs", "-c", config}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"ticks", "a", "-o", "xml", "-c", config}, code: exitUsage, stderr: "-o json"},
		{args: []string{"ticks", "a", "-n", "0", "-c", config}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"runs", "-n", "0", "-c", config}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"audit", "-n", "0", "-c", config}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"ticks", "a", "-c", config}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"next", "c", "-c", config}, code: exitNotFound, stderr: `"c" not found`},
		{args: []string{"next", "--limit", "0", "-c", config}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"next", "--from", "tomorrow", "-c", config}, code: exitUsage, stderr: "--from tomorrow"},
		{args: []string{"next", "--nosuch"}, code: exitUsage, stderr: "--nosuch"},
		{args: []string{"validate", "-c", config}, stdout: "valid: 2 jobs"},
		{args: []string{"validate", "-c", config, "--set", "defaults/overlap=allow"}, stdout: "valid: 2 jobs", stderr: "overlap: warning: runs go on"},
		{args: []string{"validate", "-c", config + ".missing"}, code: exitUsage, stderr: "config.yaml.missing"},
		{args: []string{"validate", "-c", config, "--set", "lock/ttl=never"}, code: exitUsage, stderr: "lock"},
		{args: []string{"run", "-c", config, "--set", "nosuch=1"}, code: exitUsage, stderr: "nosuch"},
		{args: []string{"dev", "--nodes", "2", "-c", config}, code: exitUsage, stderr: "--nodes 2"},
		{args: []string{"dev", "--replicas", "0", "-c", config}, code: exitUsage, stderr: "--replicas 0"},
		{args: []string{"completion", "bash"}, stdout: "quorate"},
	} {
		stdout, stderr, code := quorate(t, tc.args...)
		if code != tc.code {
			t.Errorf("quorate %v: exit code %d, want %d; %s", tc.args, code, tc.code, stderr)
		}
		if !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("quorate %v prints\n%s%s, want %q and %q", tc.args, stdout, stderr, tc.stdout, tc.stderr)
		}
	}
}

// TestReport: one line for each mistake in a configuration, one for any other
// error, however many nodes have a part in it.
func TestReport(t *testing.T) {
	t.Parallel()
	config := &replica.ConfigError{Problems: []replica.Problem{{File: "a.yaml", Line: 1, Msg: "one"}, {File: "a.yaml", Line: 2, Msg: "two"}}}
	if got := report(config); len(got) != 2 {
		t.Errorf("two mistakes are reported as %q", got)
	}
	blank := fmt.Errorf("listing: %w: %w", locking.ErrNoQuorum, errors.Join(
		locking.NodeError{Node: "a:1", Err: nodes.ErrBlank}, locking.NodeError{Node: "b:1", Err: nodes.ErrDown}))
	got := report(blank)
	if len(got) != 1 || !strings.Contains(got[0], "b:1") || !strings.Contains(got[0], "quorate nodes init") {
		t.Errorf("what two nodes said is reported as %q", got)
	}
}

// TestShippedConfig holds the config.yaml beside the README to what it says.
func TestShippedConfig(t *testing.T) {
	t.Parallel()
	if stdout, stderr, code := quorate(t, "validate", "-c", "../config.yaml"); code != exitDone {
		t.Errorf("%s%s", stdout, stderr)
	}
}
