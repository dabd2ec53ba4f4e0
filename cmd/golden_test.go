package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

func printed[R any](t *testing.T, l output.Table[R], format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := l.Print(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func asRows[R any](entries []ledger.Entry, row func(ledger.Entry) R) (rows []R) {
	for _, e := range entries {
		rows = append(rows, row(e))
	}
	return rows
}

var tick = cmdtest.Tick

func TestGoldenListings(t *testing.T) {
	t.Parallel()
	started := tick.Add(-time.Hour)
	replicas := []view.Replica{
		view.NewReplica(roster.Replica{
			ID: "web-1-4f2a", Version: "v1.2.3", Host: "web-1", PID: 4711, Started: started, Seen: tick.Add(-2 * time.Second),
			State: roster.StateReady, Running: []string{"nightly-report"}, ConfigHash: "3f786850e387550f",
			Labels:      map[string]string{"zone": "a", "disk": "fast"},
			ConfigSince: started, Jobs: new(3), Won: new(int64(1234)), ClockOffset: new(1500 * time.Microsecond),
		}),
		view.NewReplica(roster.Replica{ID: "web-2-91bc", Version: "v1.2.3", Host: "web-2", PID: 12, Started: started, Seen: tick, State: roster.StateDraining}),
	}
	left := []view.Replica{view.NewReplica(roster.Replica{
		ID: "web-0-77aa", Version: "v1.2.2", Host: "web-0", PID: 7, Started: started.Add(-72 * time.Hour), Seen: started, State: roster.StateLeft, Won: new(int64(12)),
	})}
	jobs := []view.Job{{
		Job: "nightly-report", Func: view.Optional("report"), Schedule: view.Optional("0 2 * * *"), Timezone: view.Optional("Europe/Paris"),
		Next: view.Stamp(tick.Add(23 * time.Hour)), JitterMillis: view.Optional(int64(30_000)), LastTick: view.Stamp(tick), LastOutcome: view.Optional(ledger.Succeeded),
		LastReplica: view.Optional("web-1-4f2a"), Published: view.Stamp(started), Since: view.Stamp(started.Add(-26 * time.Hour)), PublishedBy: view.Optional("web-1-4f2a"),
		Key: "nightly-report", Hash: view.Optional("3f786850e387"), Live: true,
	}}
	old, renamed := jobs[0], jobs[0]
	old.Paused = view.Optional("paused: tag finance by ann@laptop since 2026-12-01T01:00:00Z: the bank is down")
	old.Drift, renamed.Drift = true, true
	old.Job, old.Key = "cleanup", "cleanup"
	old.LastOutcome, old.Unsuccessful, old.LastSuccess = view.Optional(ledger.Skipped), 3, view.Stamp(tick.Add(-96*time.Hour))
	renamed.Job, renamed.Key, renamed.Hash = "sweep", "cleanup", view.Optional("91f0c3aa02de")
	removed := jobs[0]
	removed.Job, removed.Key, removed.Live = "removed", "removed", false
	jobs = append(jobs, old, renamed, removed)
	next := []nextRow{
		{Next: view.Next{Job: "nightly-report", Tick: *view.Stamp(tick), Start: view.Stamp(tick.Add(1500 * time.Millisecond))}, local: "Tue 2026-12-01 03:00:00 CET"},
		{Next: view.Next{Job: "nightly-report", Tick: *view.Stamp(tick.Add(24 * time.Hour)), Note: view.Optional("after the gap")}, local: "Wed 2026-12-02 03:00:00 CET"},
	}
	for _, format := range []string{"json", "table"} {
		cmdtest.Golden(t, "ticks."+format, printed(t, tickTable(asRows(cmdtest.Entries(), view.NewTick)), format))
		cmdtest.Golden(t, "ticks-all."+format, printed(t, allTicksTable(asRows(cmdtest.Entries(), view.NewTick)), format))
		cmdtest.Golden(t, "runs."+format, printed(t, runTable(asRows(cmdtest.Entries()[:3], view.NewRun)), format))
		cmdtest.Golden(t, "replicas."+format, printed(t, replicaListing(replicas, tick), format))
		cmdtest.Golden(t, "replicas-left."+format, printed(t, leftListing(left, tick), format))
		cmdtest.Golden(t, "jobs."+format, printed(t, jobListing(jobs, tick), format))
		cmdtest.Golden(t, "audit."+format, printed(t, auditListing(goldenCommands()), format))
		cmdtest.Golden(t, "next."+format, printed(t, nextListing(next), format))
	}
}

// commands has one of each kind, a trigger that was done and one that waits.
func goldenCommands() []view.Command {
	by := func(n int, command commands.Command) view.Command {
		command.ID, command.By, command.At = fmt.Sprint("act", n), "ann@laptop", tick.Add(time.Duration(-n)*time.Minute)
		command.Within = commands.DefaultWithin(command.Kind)
		return view.NewCommand(command)
	}
	const job = "nightly-report"
	return []view.Command{
		by(1, commands.Command{Kind: commands.Trigger, Job: job, Trigger: ledger.ByManual, Params: json.RawMessage(`{"customer":"acme"}`)}),
		by(2, commands.Command{Kind: commands.Trigger, Job: job, Trigger: ledger.ByChain, Parent: "load@20261201T020000.000Z", Reason: "its run succeeded", Result: "succeeded", Closed: tick}),
		by(3, commands.Command{Kind: commands.Backfill, Job: job, From: tick.Add(-48 * time.Hour), To: tick, Reason: "the source was wrong", Result: "2 ticks: 1 succeeded, 1 failed", Closed: tick}),
		by(4, commands.Command{Kind: commands.Cancel, Job: job, Run: "nightly-report@20261201T020000.000Z", Result: "cancelled on replica web-1-4f2a", Closed: tick}),
		by(5, commands.Command{Kind: commands.Resume, All: true}),
		by(6, commands.Command{Kind: commands.Pause, Tag: "finance", Reason: "the bank is down"}),
	}
}

func TestEmptyListings(t *testing.T) {
	t.Parallel()
	if got := printed(t, tickTable(nil), "json"); got != "[]\n" {
		t.Errorf("an empty JSON listing is %q, want []", got)
	}
	if got := printed(t, tickTable(nil), "table"); !strings.HasPrefix(got, "no ticks, or none ") {
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
		{"store"},
		{"store", "migrate"},
		{"store", "init"},
		{"store", "check"},
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
		{"health"},
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
	cmdtest.Golden(t, "help.txt", all.String())
}

func TestUsage(t *testing.T) {
	t.Parallel()
	cfg := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(cfg, []byte("redis: {nodes: [\"redis://127.0.0.1:1\"]}\njobs: {a: {func: exec, schedule: \"@daily\", params: {command: [date]}},\n  b: {func: exec, schedule: \"0 2 * * *\", timezone: Europe/Paris, dst: {gap: skip}, exclude: [holidays], jitter: 30m, params: {command: [date]}}}\n"+
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
		{args: []string{"pause", "a", "-c", cfg}, code: exitUsage, stderr: "--reason"},
		{args: []string{"pause", "--reason", "x", "-c", cfg}, code: exitUsage, stderr: "--tag TAG or --all"},
		{args: []string{"pause", "a", "--all", "--reason", "x", "-c", cfg}, code: exitUsage, stderr: "--tag TAG or --all"},
		{args: []string{"resume", "a", "--tag", "t", "-c", cfg}, code: exitUsage, stderr: "--tag TAG or --all"},
		{args: []string{"trigger", "a", "--params", "[1]", "-c", cfg}, code: exitUsage, stderr: "JSON object"},
		{args: []string{"trigger", "a", "--param", "x", "-c", cfg}, code: exitUsage, stderr: "key=value"},
		{args: []string{"trigger", "a", "-c", cfg}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"pause", "--all", "--reason", "x", "-c", cfg}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"backfill", "a", "--from", "yesterday", "--to", "2026-01-01", "-c", cfg}, code: exitUsage, stderr: "--from"},
		{args: []string{"backfill", "a", "--from", "2026-01-01", "-c", cfg}, code: exitUsage, stderr: "--to"},
		{args: []string{"cancel", "a", "-c", cfg}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"audit", "-c", cfg}, code: exitNoQuorum, stderr: "no quorum"},
		{args: []string{"audit", "--act", "explode", "-c", cfg}, code: exitUsage, stderr: ": --act explode: write some of trigger,"},
		{args: []string{"audit", "--refused", "maybe", "-c", cfg}, code: exitUsage, stderr: ": --refused maybe: write some of yes,no"},
		{args: []string{"audit", "--since", "lately", "-c", cfg}, code: exitUsage, stderr: ": --since lately: "},
		{args: []string{"__complete", "audit", "--act", ""}, stdout: "release\n"},
		{args: []string{"store", "foo"}, code: exitUsage, stderr: `unexpected "foo"`},
		{args: []string{"explain", "0 2 * * 1-5"}, stdout: "Monday to Friday"},
		{args: []string{"explain", "--job", "nightly", "H H * * fri#2"}, stdout: "2nd Friday"},
		{args: []string{"explain", "H 2 * * *"}, code: exitUsage, stderr: "--job NAME"},
		{args: []string{"explain", "0 2 * *"}, code: exitUsage, stderr: "0 2 * *"},
		{args: []string{"explain", "--timezone", "Mars/Phobos", "@daily"}, code: exitUsage, stderr: "Mars/Phobos"},
		{args: []string{"explain", "@daily", "0 12 L * *"}, stdout: "At 00:00 every day, UTC; and at 12:00 on the last day of every month, UTC"},
		{args: []string{"explain", "@daily", "0 12 L * 8"}, code: exitUsage, stderr: "0 12 L * 8"},
		{args: []string{"explain", "--job", "b", "-c", cfg}, stdout: "At 02:00 every day, Europe/Paris; except by calendar holidays; when clocks change: gap skip, overlap first; each tick starts less than 30m0s later"},
		{args: []string{"explain", "--job", "nosuch", "-c", cfg}, code: exitNotFound, stderr: `"nosuch" not found`},
		{args: []string{"next", "b", "-n", "1", "-c", cfg, "--from", "2026-12-24T12:00:00Z"}, stdout: "2026-12-26T01:00:00Z  Sat 2026-12-26 02:00:00 CET  starts "},
		{args: []string{"next", "b", "-n", "1", "--excluded", "-c", cfg, "--from", "2026-12-24T12:00:00Z"}, stdout: "2026-12-25T01:00:00Z  Fri 2026-12-25 02:00:00 CET  excluded by holidays"},
		{args: []string{"explain"}, code: exitUsage, stderr: "write quorate explain SPEC"},
		{args: []string{"explain", "0", "2", "*", "*", "*"}, code: exitUsage, stderr: `"0 2 * * *"`},
		{args: []string{"completion"}, code: exitUsage, stderr: "completion bash"},
		{args: []string{"completion", "tcsh"}, code: exitUsage, stderr: "completion bash"},
		{args: []string{"nosuch"}, code: exitUsage, stderr: `unknown command "nosuch"`},
		{args: []string{"nodes", "nosuch"}, code: exitUsage, stderr: `unexpected "nosuch"`},
		{args: []string{"trigger"}, code: exitUsage, stderr: "--help"},
		{args: []string{"runs", "--outcome", "failed,missed", "-c", cfg}, code: exitUsage, stderr: "quorate ticks --outcome missed lists them"},
		{args: []string{"jobs", "nosuch"}, code: exitUsage, stderr: `unexpected "nosuch"`},
		{args: []string{"jobs", "forget"}, code: exitUsage, stderr: "write quorate jobs forget JOB"},
		{args: []string{"jobs", "forget", "a", "-c", cfg}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"locks", "-c", cfg}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"locks", "-o", "xml", "-c", cfg}, code: exitUsage, stderr: "-o json"},
		{args: []string{"locks", "release", "a", "-c", cfg}, code: exitUsage, stderr: "--reason"},
		{args: []string{"locks", "release", "--reason", "x", "-c", cfg}, code: exitUsage, stderr: "write quorate locks release JOB"},
		{args: []string{"locks", "release", "a", "--reason", "it hangs", "-c", cfg}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"ticks", "a", "-o", "xml", "-c", cfg}, code: exitUsage, stderr: "-o json"},
		{args: []string{"ticks", "a", "-n", "0", "-c", cfg}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"runs", "-n", "0", "-c", cfg}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"audit", "-n", "0", "-c", cfg}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"ticks", "a", "-c", cfg}, code: exitNoQuorum, stderr: "quorum"},
		{args: []string{"next", "c", "-c", cfg}, code: exitNotFound, stderr: `"c" not found`},
		{args: []string{"next", "--limit", "0", "-c", cfg}, code: exitUsage, stderr: "--limit 0"},
		{args: []string{"next", "--from", "tomorrow", "-c", cfg}, code: exitUsage, stderr: "--from tomorrow"},
		{args: []string{"next", "--nosuch"}, code: exitUsage, stderr: "--nosuch"},
		{args: []string{"validate", "-c", cfg}, stdout: "valid: 2 jobs"},
		{args: []string{"validate", "-c", cfg, "--set", "defaults/overlap=allow"}, stdout: "valid: 2 jobs", stderr: "defaults.overlap: warning: runs may overlap"},
		{args: []string{"validate", "-c", cfg + ".missing"}, code: exitUsage, stderr: "config.yaml.missing"},
		{args: []string{"validate", "-c", cfg, "--set", "lock/ttl=never"}, code: exitUsage, stderr: "lock"},
		{args: []string{"run", "-c", cfg, "--set", "nosuch=1"}, code: exitUsage, stderr: "nosuch"},
		{args: []string{"dev", "--nodes", "2", "-c", cfg}, code: exitUsage, stderr: "--nodes 2"},
		{args: []string{"dev", "--replicas", "0", "-c", cfg}, code: exitUsage, stderr: "--replicas 0"},
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
	cfg := &settings.Error{Problems: []settings.Problem{{File: "a.yaml", Line: 1, Msg: "one"}, {File: "a.yaml", Line: 2, Msg: "two"}}}
	if got := failure.Lines(cfg); len(got) != 2 {
		t.Errorf("two mistakes are reported as %q", got)
	}
	blank := fmt.Errorf("listing: %w: %w", locking.ErrNoQuorum, errors.Join(
		locking.NodeError{Node: "a:1", Err: membership.ErrBlank}, locking.NodeError{Node: "b:1", Err: client.ErrDown}))
	got := failure.Lines(blank)
	if len(got) != 1 || !strings.Contains(got[0], "b:1") || !strings.Contains(got[0], "quorate store init") {
		t.Errorf("what two nodes said is reported as %q", got)
	}
}

// TestShippedConfig checks the config.yaml beside the README.
func TestShippedConfig(t *testing.T) {
	t.Parallel()
	if stdout, stderr, code := quorate(t, "validate", "-c", "../config.yaml"); code != exitDone {
		t.Errorf("%s%s", stdout, stderr)
	}
}
