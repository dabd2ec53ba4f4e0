package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestCampaignEveryTickOnce: three processes, five servers, a tick a second:
// every tick exactly one line, tokens growing, several winners.
func TestCampaignEveryTickOnce(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "lines")
	config := writeConfig(t, redistest.StartN(t, 5), fmt.Sprintf(writesLines, out))
	initNew(t, config)
	var replicas []*process
	for _, id := range []string{"a", "b", "c"} {
		replicas = append(replicas, startReplica(t, config, id))
	}
	for _, r := range replicas {
		r.waitLog(`"ready"`)
	}
	wait(t, lasting(12*time.Second, time.Minute))
	for _, r := range replicas {
		r.signal(syscall.SIGTERM)
	}
	for _, r := range replicas {
		if code := r.exitCode(); code != exitDone {
			t.Errorf("%s exited with %d", r.id, code)
		}
	}

	lines := readLines(t, out)
	if len(lines) < 8 {
		t.Fatalf("only %d lines", len(lines))
	}
	checkOnce(t, lines)
	rows := checkTruth(t, config, map[string][]string{"tick": everySecond(t, lines[0].tick, lines[len(lines)-1].tick)}, out, replicas...)
	for tick, row := range rows {
		if l := lines[len(lines)-1]; row.Outcome != ledger.Succeeded && listing.Text(listing.Stamp(tick.At)) <= l.tick && row.Tick >= lines[0].tick {
			t.Errorf("tick %s is %s (%s): nothing was in its way", row.Tick, row.Outcome, output.Dash(row.Reason))
		}
	}
	won := winners(lines)
	if len(won) < 2 {
		t.Errorf("one replica won everything: %v", won)
	}
	t.Logf("%d lines, wins %v", len(lines), won)
}

// TestCampaignKills: the same with the winner killed again and again, half of
// the time while its child runs, and two nodes killed and started empty. The child
// leaves one of its own behind, which ends only if somebody ends it.
func TestCampaignKills(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	out := filepath.Join(t.TempDir(), "lines")
	marker := "campaign-child-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	config := writeConfig(t, servers, fmt.Sprintf(`
jobs:
  tick:
    func: exec
    schedule: "@every 1s"
    params:
      command: [sh, -c, 'sh -c "sleep 120; :" %[2]s & sleep 0.5; echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA" >> %[1]s', %[2]s]
`, out, marker))
	initNew(t, config)
	replicas, lives := map[string]*process{}, []*process{}
	start := func(id string) {
		replicas[id] = startReplica(t, config, id)
		replicas[id].waitLog(`"ready"`)
		lives = append(lives, replicas[id])
	}
	for _, id := range []string{"a", "b", "c"} {
		start(id)
	}

	length := lasting(30*time.Second, time.Minute)
	every, nodesDie, nodesReturn := length/6, length/3, 2*length/3
	began := time.Now()
	kills, dead := 0, false
	for n := 1; time.Duration(n)*every < length; n++ {
		wait(t, time.Until(began.Add(time.Duration(n)*every)))
		if at := time.Since(began); at >= nodesDie && !dead {
			servers[0].Kill()
			servers[1].Kill()
			dead = true
		} else if at >= nodesReturn && dead {
			servers[0].Restart(false)
			servers[1].Restart(false)
			nodesReturn = length
		}
		winner := nextWinner(t, replicas)
		var children []string
		if n%2 == 1 { // while the child runs; it sleeps for much longer
			eventually(t, "the winner's child to run", func() bool {
				children = running(t, marker)
				return len(children) > 0
			})
		}
		winner.kill()
		eventually(t, "the children of a killed replica to end", func() bool {
			return !slices.ContainsFunc(running(t, marker), func(child string) bool { return slices.Contains(children, child) })
		})
		kills++
		start(winner.id)
	}
	wait(t, time.Until(began.Add(length)))
	for _, r := range replicas {
		r.signal(syscall.SIGTERM)
	}
	for _, r := range replicas {
		if code := r.exitCode(); code != exitDone {
			t.Errorf("%s exited with %d", r.id, code)
		}
	}
	eventually(t, "orphaned children to end", func() bool { return len(running(t, marker)) == 0 })

	lines := readLines(t, out)
	checkOnce(t, lines)
	store := checkTruth(t, config, map[string][]string{"tick": everySecond(t, lines[0].tick, lines[len(lines)-1].tick)}, out, lives...)
	for _, row := range store {
		if row.Outcome == ledger.Skipped && !strings.Contains(output.Dash(row.Reason), "until") && !strings.Contains(output.Dash(row.Reason), "may be over") {
			t.Errorf("tick %s was skipped without saying until when: %s", row.Tick, output.Dash(row.Reason))
		}
	}
	t.Logf("%d kills, %d lines, wins %v", kills, len(lines), winners(lines))
	for what, n := range outcomes(store) {
		t.Logf("%3d × %s", n, what)
	}
}

// nextWinner waits for the next tick that is won, and says by whom.
func nextWinner(t *testing.T, replicas map[string]*process) *process {
	t.Helper()
	type win struct {
		Msg, Replica string
	}
	lines := make(chan string, 1000)
	for _, p := range replicas {
		p.mu.Lock()
		p.waits = append(p.waits, lines)
		p.mu.Unlock()
	}
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for {
		select {
		case text := <-lines:
			var w win
			if json.Unmarshal([]byte(text), &w) == nil && w.Msg == "tick won" {
				return replicas[w.Replica]
			}
		case <-giveUp.C:
			t.Fatal("nobody wins a tick any more")
		}
	}
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
	out := filepath.Join(t.TempDir(), "lines")
	config := writeConfig(t, servers, fmt.Sprintf(writesLines, out))
	initNew(t, config)
	r := startReplica(t, config, "a")
	r.waitLog(`"run ended"`)
	from := time.Now()
	for _, s := range servers[:3] {
		s.Freeze()
	}
	missed := r.waitLog(`"tick does not run".*no quorum`)
	for _, command := range [][]string{{"ticks", "tick"}, {"runs"}, {"jobs"}, {"replicas"}, {"nodes"}} {
		_, stderr, code := quorate(t, append(command, "-c", config)...)
		if code != exitNoQuorum || !strings.Contains(stderr, "quorum") {
			t.Errorf("quorate %v: exit code %d, %q; want %d and why", command, code, stderr, exitNoQuorum)
		}
	}
	before := strings.Count(r.log(), `"run ended"`)
	for _, s := range servers[:3] {
		s.Thaw()
	}
	thawed := time.Now()
	eventually(t, "runs after the nodes returned", func() bool { return strings.Count(r.log(), `"run ended"`) > before })
	var event struct{ Tick string }
	if err := json.Unmarshal([]byte(missed), &event); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the missed tick in the ledger", func() bool {
		return slices.ContainsFunc(list[listing.Tick](t, "ticks", "tick", "-c", config), func(row listing.Tick) bool {
			return row.Tick == event.Tick && row.Outcome == ledger.Missed && strings.Contains(output.Dash(row.Reason), "no quorum")
		})
	})
	to := time.Now()
	wait(t, 2*time.Second) // the window of a tick ends when the next one comes
	checkTruthAfter(t, []time.Time{thawed}, config, map[string][]string{"tick": ticksBetween(from, to, time.Second)}, out, r)
}

// TestCampaignBlankNodes: a first start on blank nodes waits one grace and logs until when;
// after `store init` it does not wait. Another node list is refused with the nodes' list.
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
		out := filepath.Join(t.TempDir(), "lines")
		config := writeConfig(t, redistest.StartN(t, 3), fmt.Sprintf(writesLines, out))
		r := startReplica(t, config, "a")
		said := r.waitLog(`no tick runs before 2`)
		_, until, _ := strings.Cut(said, "no tick runs before ")
		grace, err := time.Parse(time.RFC3339Nano, strings.TrimRight(strings.FieldsFunc(until, func(r rune) bool { return r == ',' || r == '"' })[0], "\","))
		if err != nil {
			t.Fatalf("%q does not say until when: %v", said, err)
		}
		r.waitLog(`"run ended"`)
		ready := time.Now()
		rows := list[listing.Tick](t, "ticks", "tick", "-c", config)
		for _, row := range rows {
			tick, err := time.Parse(time.RFC3339Nano, row.Tick)
			if err != nil {
				t.Fatal(err)
			}
			if ran := row.Ran(); ran && tick.Before(grace) {
				t.Errorf("tick %s ran before %s", row.Tick, grace)
			}
		}
		if len(rows) < 2 || rows[len(rows)-1].Outcome != ledger.Missed {
			t.Errorf("the ticks of the grace are not in the ledger as missed: %+v", rows)
		}
		checkTruth(t, config, map[string][]string{"tick": ticksBetween(grace, ready, time.Second)}, out, r)
	})
	t.Run("init", func(t *testing.T) {
		t.Parallel()
		servers := redistest.StartN(t, 3)
		config := writeConfig(t, servers, job)
		initNew(t, config)
		r := startReplica(t, config, "a")
		r.waitLog(`"run ended"`)
		if strings.Contains(r.log(), "no tick runs before") {
			t.Errorf("it waited after store init:\n%s", r.log())
		}
		for _, row := range list[listing.Tick](t, "ticks", "tick", "-c", config) {
			if row.Outcome == ledger.Missed {
				t.Errorf("tick %s is %s (%s) after store init", row.Tick, row.Outcome, output.Dash(row.Reason))
			}
		}

		other := writeConfig(t, append(servers[:2:2], redistest.Start(t)), job)
		stranger := startReplica(t, other, "b")
		if code := stranger.exitCode(); code != exitFailed {
			t.Errorf("a replica with another list exited with %d", code)
		}
		for _, s := range servers {
			if !strings.Contains(stranger.log(), s.Addr()) {
				t.Errorf("it was not told that the nodes hold %s:\n%s", s.Addr(), stranger.log())
			}
		}
	})
}

// initNew says that the nodes of the configuration are new.
func initNew(t *testing.T, config string) {
	t.Helper()
	for tries := 1; ; tries++ {
		_, stderr, code := quorate(t, "store", "init", "-c", config)
		if code == exitDone {
			return
		}
		if tries == 20 { // nodes answer late on a busy machine
			t.Fatalf("store init: %s", stderr)
		}
	}
}

// wait lets the processes under test work for a while.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
