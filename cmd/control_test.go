package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestCommands controls three real replicas on five real nodes, one of which dies meanwhile,
// with the commands that people type.
func TestCommands(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	job := func(name, schedule, script, rest string) string {
		return fmt.Sprintf("  %s:\n    func: exec\n    schedule: %q\n    params: {command: [sh, -c, %q]}\n%s", name, schedule, script, rest)
	}
	end := time.Now().Add(30 * time.Minute).Truncate(time.Minute) // no tick of report comes during the test
	const write = `echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB" >> %[1]s`
	c := onRedis(t, servers, "jobs:\n"+
		job("report", fmt.Sprintf("%d * * * *", end.UTC().Minute()), write, "")+
		job("slow", "@every 10000h", "sleep 60", "")+
		job("ticker", "@every 1s", write, "    tags: [often]\n"))
	config := patient(t, c.Config)
	ran := func(job string) []checker.Effect {
		return slices.DeleteFunc(c.Effects(), func(e checker.Effect) bool { return e.Job != job })
	}
	must := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := quorate(t, append(args, "-c", config)...)
		if code != exitDone {
			t.Fatalf("quorate %v: exit code %d: %s%s", args, code, stdout, stderr)
		}
		return stdout
	}
	must("store", "init")
	c.Start(campaigntest.IDs()...)
	c.Ready()
	eventually(t, "the jobs are published", func() bool { return len(list[view.Job](t, "jobs", "-c", config)) == 3 })

	if row := must("trigger", "report", "--wait", "--reason", "to see it"); !strings.Contains(row, "succeeded") {
		t.Errorf("trigger --wait prints %s", row)
	}
	if n := len(ran("report")); n != 1 {
		t.Errorf("the trigger ran %d times", n)
	}
	if _, stderr, code := quorate(t, "trigger", "report", "--param", "command=id", "--wait", "-c", config); code != exitUsage || !strings.Contains(stderr, "params: exec takes its params from the configuration only") {
		t.Errorf("a trigger that sets a command: exit code %d: %s", code, stderr)
	}
	if _, _, code := quorate(t, "trigger", "nosuch", "-c", config); code != exitNotFound {
		t.Errorf("a trigger of an unknown job: exit code %d, want %d", code, exitNotFound)
	}

	// A probable mistake is reported; the pause applies all the same.
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"pause --tag offen --reason typo", exitDone, "no job of this cluster has the tag offen"},
		{"resume --tag often", exitDone, "tag often was not paused"},
		{"resume --tag offen", exitDone, ""},
		{"pause", exitUsage, "name one job"},
		{"pause report", exitUsage, "--reason"},
		{"trigger report --within 0s", exitUsage, "--within 0s: write 1s or more"},
		{"backfill report --from 2026-01-01 --to 2026-01-02 --within 0s", exitUsage, "--within 0s: write 1s or more"},
		{"logs slow", exitNotFound, "not found: no run of slow has ended; quorate runs slow lists them"},
		{"logs report --attempt 2", exitNotFound, "no run of report has ended as attempt 2"},
	} {
		_, stderr, code := quorate(t, append(strings.Fields(tt.args), "-c", config)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) || tt.says == "" && stderr != "" {
			t.Errorf("quorate %s: exit code %d, want %d, and it says %q, want %q", tt.args, code, tt.code, stderr, tt.says)
		}
	}

	servers[1].Kill()
	must("pause", "--tag", "often", "--reason", "too loud", "--as", "ann")
	skipped := func() bool {
		newest := list[view.Tick](t, "ticks", "ticker", "--limit", "1", "-c", config)
		return len(newest) == 1 && newest[0].Outcome == ledger.Skipped && strings.Contains(*newest[0].Reason, "paused: tag often by ann")
	}
	eventually(t, "ticks of the tag are skipped", skipped)
	for _, r := range list[view.Job](t, "jobs", "-c", config) {
		if paused := r.Paused != nil; paused != (r.Job == "ticker") {
			t.Errorf("jobs: paused of %s is %v", r.Job, r.Paused)
		}
	}

	// Everybody leaves; somebody asks; everybody comes back.
	c.Drain()
	before := len(ran("ticker"))
	must("trigger", "report", "--reason", "while nobody is there")
	c.Start(campaigntest.IDs()...)
	c.Ready()
	eventually(t, "the trigger runs", func() bool { return len(ran("report")) == 2 })
	eventually(t, "ticks are skipped again", skipped)
	if n := len(ran("ticker")); n != before {
		t.Errorf("a paused job ran %d times after the restart", n-before)
	}
	must("resume", "--tag", "often")
	eventually(t, "the ticker goes on", func() bool { return len(ran("ticker")) > before })

	from, to := end.Add(-3*time.Hour).Format(time.RFC3339), end.Add(time.Minute-time.Hour).Format(time.RFC3339)
	if dry := must("backfill", "report", "--from", from, "--to", to, "--dry-run"); strings.Count(dry, "report") != 3 {
		t.Errorf("the dry run prints\n%s, want three ticks", dry)
	}
	// The replicas' jobs are shown, not those of the local file.
	if dry := must("backfill", "report", "--from", from, "--to", to, "--dry-run", "--set", "jobs/report/schedule=@every 1m"); strings.Count(dry, "report") != 3 {
		t.Errorf("the dry run with another schedule at hand prints\n%s, want three ticks", dry)
	}
	must("backfill", "report", "--from", from, "--to", to, "--reason", "they were lost")
	eventually(t, "three ticks are run", func() bool { return len(ran("report")) == 5 })
	lines := ran("report")[2:]
	for n, l := range lines {
		if !l.At.Equal(end.Add(time.Duration(n-3)*time.Hour)) || n > 0 && l.Token <= lines[n-1].Token {
			t.Errorf("the backfill ran %v, want the ticks from %s, oldest first, with tokens that grow", lines, from)
		}
	}

	slow := func() []view.Run { return list[view.Run](t, "runs", "slow", "-c", config) }
	running := func() bool { return slow()[0].Outcome == ledger.Running }
	for n := 1; n <= 5; n++ {
		must("trigger", "slow")
		eventually(t, "slow runs", func() bool { return len(slow()) == n })
		_, _, _ = quorate(t, "cancel", "slow", "--reason", "it takes too long", "--as", "bob", "-c", config)
		eventually(t, "slow has ended", func() bool { return !running() })
		if slow()[0].Outcome != ledger.LeaseLost { // a busy machine may lose the lease
			break
		}
	}
	if last := slow()[0]; last.Outcome != ledger.Cancelled || !strings.Contains(*last.Reason, "bob: it takes too long") {
		t.Errorf("the last run: %+v", last)
	}
	if _, _, code := quorate(t, "cancel", "slow", "-c", config); code != exitNotFound {
		t.Errorf("cancelling what does not run: exit code %d, want %d", code, exitNotFound)
	}
	eventually(t, "the audit log says what became of everything", func() bool {
		return audited(list[view.Command](t, "audit", "-c", config)) == strings.Join([]string{
			"cancel cancelled on", "trigger cancelled", "backfill 3 ticks", "resume ", "trigger succeeded",
			"pause ", "resume ", "resume ", "pause ", "trigger succeeded",
		}, "\n")
	})
}

// audited lists kinds and the beginning of results, newest first.
func audited(rows []view.Command) string {
	var lines []string
	for _, r := range rows {
		result := ""
		if r.Result != nil {
			result, _, _ = strings.Cut(*r.Result, ":")
			result, _, _ = strings.Cut(result, " replica")
		}
		lines = append(lines, string(r.Kind)+" "+result)
	}
	return strings.Join(lines, "\n")
}

// A job that was renamed is steered by the ids that listings show of its runs,
// though the nodes know it by another name.
func TestCommandsOnARenamedJob(t *testing.T) {
	t.Parallel()
	served := writeConfig(t, redistest.StartN(t, 1), `jobs:
  is: {func: exec, schedule: "@every 10000h", params: {command: [sleep, "60"]}, formerly: was}
`)
	config := patient(t, served)
	initNew(t, config)
	campaigntest.Start(t, served, "a").AwaitLog(`"ready"`)
	eventually(t, "the job is published", func() bool { return len(list[view.Job](t, "jobs", "-c", config)) == 1 })
	asked, stderr, code := quorate(t, "trigger", "is", "-c", config)
	if code != exitDone {
		t.Fatal(stderr)
	}
	running := func(outcome ledger.Outcome) func() bool {
		return func() bool {
			rows := list[view.Run](t, "runs", "is", "-c", config)
			return len(rows) == 1 && rows[0].Outcome == outcome
		}
	}
	eventually(t, "it runs", running(ledger.Running))
	id := *list[view.Run](t, "runs", "is", "-c", config)[0].ID
	if !strings.HasPrefix(id, "is@") || !strings.Contains(asked, id) {
		t.Errorf("quorate runs lists %s, quorate trigger says %s", id, asked)
	}
	if _, _, code := quorate(t, "cancel", "is", "--run", "is@20200101T000000.000Z.manual", "-c", config); code != exitNotFound {
		t.Errorf("cancelling a run that does not go on: exit code %d, want %d", code, exitNotFound)
	}
	stdout, stderr, code := quorate(t, "cancel", "is", "--run", id, "-c", config)
	if code != exitDone || !strings.Contains(stdout, id) {
		t.Fatalf("quorate cancel is --run %s: exit code %d: %s%s", id, code, stdout, stderr)
	}
	eventually(t, "it was cancelled", running(ledger.Cancelled))
}

// TestPauses: an invalid tag is refused. Every pause is listed and ended, also of an unused
// tag.
func TestPauses(t *testing.T) {
	t.Parallel()
	config := writeConfig(t, redistest.StartN(t, 3), "jobs: {}\n")
	initNew(t, config)
	if _, stderr, code := quorate(t, "pause", "--tag", strings.Repeat("x y", 50), "--reason", "so", "-c", config); code != exitUsage || !strings.Contains(stderr, "is not a tag") {
		t.Errorf("a tag of any text: exit code %d: %.200s", code, stderr)
	}
	for _, args := range [][]string{{"--for", "1h", "--until", "2099-01-01"}, {"--for", "0s"}, {"--until", "tomorrow"}, {"--until", "2020-01-01"}} {
		if _, stderr, code := quorate(t, append([]string{"pause", "--all", "--reason", "so", "-c", config}, args...)...); code != exitUsage {
			t.Errorf("pause %v: exit code %d: %s", args, code, stderr)
		}
	}
	for _, args := range [][]string{{"--tag", "typo", "--until", "2030-01-01"}, {"--all", "--for", "90m"}} {
		if _, stderr, code := quorate(t, append([]string{"pause", "--reason", "so", "-c", config}, args...)...); code != exitDone {
			t.Fatalf("pause %v: exit code %d: %s", args, code, stderr)
		}
	}
	rows := list[view.Command](t, "pauses", "-c", config)
	if len(rows) != 2 || rows[0].Target() != "tag typo" || rows[1].Target() != "all jobs" {
		t.Fatalf("the pauses are %+v", rows)
	}
	since, _ := time.Parse(time.RFC3339, rows[1].At)
	if ends, err := time.Parse(time.RFC3339, view.Text(rows[1].Until)); view.Text(rows[0].Until) != "2030-01-01T00:00:00Z" || err != nil || ends.Sub(since) != 90*time.Minute {
		t.Errorf("they end at %s and %s", view.Text(rows[0].Until), view.Text(rows[1].Until))
	}
	for _, row := range rows {
		if out, stderr, code := quorate(t, "resume", "--id", row.ID, "-c", config); code != exitDone || !strings.HasPrefix(out, row.Target()+": resumed by ") {
			t.Errorf("resume --id %s: exit code %d: %s%s", row.ID, code, out, stderr)
		}
	}
	if rows := list[view.Command](t, "pauses", "-c", config); len(rows) != 0 {
		t.Errorf("after that they are %+v", rows)
	}
	if _, _, code := quorate(t, "resume", "--id", rows[0].ID, "-c", config); code != exitNotFound {
		t.Errorf("once more: exit code %d, want %d", code, exitNotFound)
	}
	if _, _, code := quorate(t, "resume", "--id", "x", "--all", "-c", config); code != exitUsage {
		t.Errorf("--id and --all: exit code %d, want %d", code, exitUsage)
	}
}
