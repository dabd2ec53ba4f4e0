package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
)

// TestCampaignReload renames and changes a job on one of two processes, then on
// the other, with a mistake in between. Each tick runs once throughout, both
// names find its ledger, and `quorate jobs` marks the drift while it lasts.
func TestCampaignReload(t *testing.T) {
	t.Parallel()
	c, servers := campaigntest.New(t), redistest.StartN(t, 3)
	jobs := func(name, more string) string {
		return fmt.Sprintf(`
scheduler: {reload_every: 0s}
jobs:
  %s:
    func: exec
    schedule: "@every 1s"
    params: {command: [sh, -c, 'echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB" >> %s']}
%s`, name, c.Sink, more)
	}
	before, after := jobs("was", ""), jobs("is", "    formerly: was\n    timeout: 5m\n")
	configs := []string{writeConfig(t, servers, before), writeConfig(t, servers, before)}
	initNew(t, configs[0])
	c.Config = configs[0]
	a, b := campaigntest.Start(t, configs[0], "a"), campaigntest.Start(t, configs[1], "b")
	c.Add(a)
	c.Add(b)
	edit := func(p *campaigntest.Replica, config, from, to, says string) {
		t.Helper()
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Signal(syscall.SIGHUP)
		p.AwaitLog(says)
	}
	moreLines := func() {
		t.Helper()
		n := len(c.Effects())
		c.Eventually("more ticks run", func() bool { return len(c.Effects()) >= n+2 })
	}
	drift := func(want string) {
		t.Helper()
		eventually(t, "quorate jobs to show "+want, func() bool {
			var shown []string
			for _, row := range list[view.Job](t, "jobs", "-c", configs[0]) {
				shown = append(shown, fmt.Sprintf("%s of %s live %v drift %v", row.Job, row.Key, row.Live, row.Drift))
			}
			return strings.Join(shown, ", ") == want
		})
	}
	c.Ready()
	moreLines()
	drift("was of was live true drift false")

	edit(b, configs[1], before, after, `"job renamed"`)
	moreLines()
	drift("is of was live true drift true, was of was live true drift true")

	edit(a, configs[0], before, strings.Replace(after, "@every", "@evry", 1), `config.yaml:\d+:\d+: jobs.is.schedule`)
	moreLines()
	edit(a, configs[0], "@evry", "@every", `"job changed".*timeout`)
	moreLines()
	drift("is of was live true drift false")

	lines := c.Effects()
	c.CheckOnce()
	c.Due("is", time.Second, lines[0].At.Add(-time.Nanosecond), lines[len(lines)-1].At)
	for _, tick := range c.Facts.Ticks {
		if !slices.ContainsFunc(lines, func(e checker.Effect) bool { return e.At.Equal(tick.At) }) {
			t.Errorf("tick %s is lost", tick)
		}
	}
	for n, l := range lines[1:] { // also from one name to the other
		if l.At.After(lines[n].At) && l.Token <= lines[n].Token {
			t.Errorf("the token did not grow from %v to %v", lines[n], l)
		}
	}
	if n := len(c.Facts.Ticks); len(lines) > n { // under two names
		t.Errorf("%d ticks ran %d times", n, len(lines))
	}
	c.CheckTruth()
	for _, name := range []string{"is", "was"} {
		rows := list[view.Tick](t, "ticks", name, "-c", configs[0], "--limit", "1000")
		if len(rows) < len(lines) || rows[0].Job != "is" {
			t.Errorf("ticks %s lists %d rows of %d, called %s", name, len(rows), len(lines), rows[0].Job)
		}
	}
	last := lines[len(lines)-1].At.UTC().Format(time.RFC3339)
	rows := slices.DeleteFunc(list[view.Run](t, "runs", "-c", configs[0], "--limit", "1000"), func(r view.Run) bool { return r.Tick > last }) // the replicas go on
	if len(rows) < len(lines) || len(rows) > len(lines)+2 {
		t.Errorf("runs lists %d rows of %d", len(rows), len(lines))
	}
}
