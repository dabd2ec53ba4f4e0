package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestCampaignEveryTickOnce: three processes, five servers, a tick a second:
// every tick exactly one line, tokens growing, several winners.
func TestCampaignEveryTickOnce(t *testing.T) {
	t.Parallel()
	c := onRedis(t, redistest.StartN(t, 5), writesLines)
	initNew(t, c.Config)
	c.Start(campaigntest.IDs()...)
	c.Ready()
	c.Wait(length.Of(12*time.Second, time.Minute))
	c.Drain()

	lines := c.Effects()
	if len(lines) < 8 {
		t.Fatalf("only %d lines", len(lines))
	}
	c.CheckOnce()
	first, last := lines[0].At, lines[len(lines)-1].At
	c.Due("tick", time.Second, first.Add(-time.Nanosecond), last)
	for tick, row := range c.CheckTruth() {
		if row.Outcome != ledger.Succeeded && !tick.At.Before(first) && !tick.At.After(last) {
			t.Errorf("tick %s is %s (%s): nothing was in its way", row.Tick, row.Outcome, output.Dash(row.Reason))
		}
	}
	c.CheckReads()
	won := winners(lines)
	if len(won) < 2 {
		t.Errorf("one replica won everything: %v", won)
	}
	t.Logf("%d lines, wins %v", len(lines), won)
}

// winners counts lines per replica.
func winners(lines []checker.Effect) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		n[l.Replica]++
	}
	return n
}

// TestCampaignKills: the same with the winner killed again and again, half of
// the time while its child runs, and two nodes killed and started empty. The child
// leaves one of its own behind, which ends only if somebody ends it.
func TestCampaignKills(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	marker := "campaign-child-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	c := onRedis(t, servers, `
jobs:
  tick:
    func: exec
    schedule: "@every 1s"
    params:
      command: [sh, -c, 'sh -c "sleep 120; :" `+marker+` & sleep 0.5; echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB" >> %[1]s', `+marker+`]
`)
	initNew(t, c.Config)
	c.Start(campaigntest.IDs()...)
	c.Ready()

	length := length.Of(30*time.Second, time.Minute)
	every, nodesDie, nodesReturn := length/6, length/3, 2*length/3
	began := time.Now()
	kills, dead := 0, false
	for n := 1; time.Duration(n)*every < length; n++ {
		c.Wait(time.Until(began.Add(time.Duration(n) * every)))
		if at := time.Since(began); at >= nodesDie && !dead {
			servers[0].Kill()
			servers[1].Kill()
			dead = true
		} else if at >= nodesReturn && dead {
			servers[0].Restart(false)
			servers[1].Restart(false)
			nodesReturn = length
		}
		winner := c.NextWinner()
		var children []string
		if n%2 == 1 { // while the child runs; it sleeps for much longer
			c.Eventually("the winner's child runs", func() bool {
				children = running(t, marker)
				return len(children) > 0
			})
		}
		winner.Kill()
		c.Eventually("the children of a killed replica end", func() bool {
			return !slices.ContainsFunc(running(t, marker), func(child string) bool { return slices.Contains(children, child) })
		})
		kills++
		c.Start(winner.ID)
		c.Ready()
		if kills == 1 {
			c.CheckReads()
		}
	}
	c.Wait(time.Until(began.Add(length)))
	c.Drain()
	c.Eventually("orphaned children end", func() bool { return len(running(t, marker)) == 0 })

	lines := c.Effects()
	c.CheckOnce()
	c.Due("tick", time.Second, lines[0].At.Add(-time.Nanosecond), lines[len(lines)-1].At)
	for _, row := range c.CheckTruth() {
		if row.Outcome == ledger.Skipped && !strings.Contains(output.Dash(row.Reason), "until") && !strings.Contains(output.Dash(row.Reason), "may be over") {
			t.Errorf("tick %s was skipped without saying until when: %s", row.Tick, output.Dash(row.Reason))
		}
	}
	c.CheckReads()
	t.Logf("%d kills, %d lines, wins %v", kills, len(lines), winners(lines))
}

// running returns the processes whose command line holds the marker.
func running(t *testing.T, marker string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(paths) == 0 {
		t.Fatalf("cannot list processes: %v", err)
	}
	var found []string
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), marker) {
			found = append(found, path)
		}
	}
	return found
}

// TestCampaignNoQuorum: three of five nodes go away and return. Nothing runs
// meanwhile, log and ledger say why, listings exit with 4, and it recovers.
func TestCampaignNoQuorum(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5, redistest.Conf("appendonly yes", "appendfsync always"))
	c := onRedis(t, servers, writesLines)
	initNew(t, c.Config)
	c.Start("a")
	r := c.Replicas["a"]
	r.AwaitLog(`"run ended"`)
	from := time.Now()
	for _, s := range servers[:3] {
		s.Freeze()
	}
	missed := r.AwaitLog(`"not run here".*no quorum`)
	for _, command := range [][]string{{"ticks", "tick"}, {"runs"}, {"jobs"}, {"replicas"}, {"nodes"}} {
		_, stderr, code := quorate(t, append(command, "-c", c.Config)...)
		if code != exitNoQuorum || !strings.Contains(stderr, "quorum") {
			t.Errorf("quorate %v: exit code %d, %q; want %d and why", command, code, stderr, exitNoQuorum)
		}
	}
	before := strings.Count(r.Log(), `"run ended"`)
	for _, s := range servers[:3] {
		s.Thaw()
	}
	c.Healed()
	c.Eventually("runs after the nodes returned", func() bool { return strings.Count(r.Log(), `"run ended"`) > before })
	var event struct{ Tick string }
	if err := json.Unmarshal([]byte(missed), &event); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the missed tick in the ledger", func() bool {
		return slices.ContainsFunc(list[view.Tick](t, "ticks", "tick", "-c", c.Config), func(row view.Tick) bool {
			return row.Tick == event.Tick && row.Outcome == ledger.Missed && strings.Contains(output.Dash(row.Reason), "no quorum")
		})
	})
	c.Due("tick", time.Second, from, time.Now())
	c.Wait(2 * time.Second) // the window of a tick ends when the next one comes
	c.CheckTruth()
}

// TestCampaignBlankNodes: a first start on blank nodes waits one grace and logs until when; the
// ticks before that are nobody's. After `store init` it does not wait. Another node list is refused with the nodes' list.
func TestCampaignBlankNodes(t *testing.T) {
	t.Parallel()
	const job = `
jobs:
  tick:
    func: exec
    schedule: "@every 1s"
    params: {command: ["true"]}
`
	t.Run("wait", func(t *testing.T) {
		t.Parallel()
		c := onRedis(t, redistest.StartN(t, 3), writesLines)
		c.Start("a")
		r := c.Replicas["a"]
		said := r.AwaitLog(`no tick runs before 2`)
		_, until, _ := strings.Cut(said, "no tick runs before ")
		grace, err := time.Parse(time.RFC3339Nano, strings.TrimRight(strings.FieldsFunc(until, func(r rune) bool { return r == ',' || r == '"' })[0], "\","))
		if err != nil {
			t.Fatalf("%q does not say until when: %v", said, err)
		}
		r.AwaitLog(`"run ended"`)
		ready := time.Now()
		rows := list[view.Tick](t, "ticks", "tick", "-c", c.Config)
		for _, row := range rows {
			if view.Time(&row.Tick).Before(grace) {
				t.Errorf("tick %s is before %s, and %s", row.Tick, grace, row.Outcome)
			}
		}
		c.Due("tick", time.Second, grace, ready)
		c.CheckTruth()
	})
	t.Run("init", func(t *testing.T) {
		t.Parallel()
		servers := redistest.StartN(t, 3)
		config := writeConfig(t, servers, job)
		initNew(t, config)
		r := campaigntest.Start(t, config, "a")
		r.AwaitLog(`"run ended"`)
		if strings.Contains(r.Log(), "no tick runs before") {
			t.Errorf("it waited after store init:\n%s", r.Log())
		}
		for _, row := range list[view.Tick](t, "ticks", "tick", "-c", config) {
			if row.Outcome == ledger.Missed {
				t.Errorf("tick %s is %s (%s) after store init", row.Tick, row.Outcome, output.Dash(row.Reason))
			}
		}

		other := writeConfig(t, append(servers[:2:2], redistest.Start(t)), job)
		stranger := campaigntest.Start(t, other, "b")
		if code := stranger.ExitCode(); code != exitFailed {
			t.Errorf("a replica with another list exited with %d", code)
		}
		for _, s := range servers {
			if !strings.Contains(stranger.Log(), s.Addr()) {
				t.Errorf("it was not told that the nodes hold %s:\n%s", s.Addr(), stranger.Log())
			}
		}
	})
}
