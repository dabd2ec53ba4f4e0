package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// troubled is a cluster in which some things go wrong: a node is down, a replica
// drains, a job fails again and again, a tick was missed, a stale write was refused.
func troubled() snapshot {
	far, ahead := 0.42, -3.2
	d := snapshot{since: cmdtest.Tick.Add(-time.Hour), read: cmdtest.Tick.Add(-time.Second), took: 30 * time.Millisecond}
	for i, state := range []string{"voting", "voting", "down", "abstaining", "voting"} {
		n := view.Node{Node: fmt.Sprintf("redis-%d.example.internal:6379", i+1), State: state, RTTMillis: &far, OffsetMilli: &ahead}
		switch state {
		case "down":
			n.RTTMillis, n.OffsetMilli, n.Error = nil, nil, view.Optional(n.Node+": dial tcp 10.0.2.1:6379: connection refused")
		case "abstaining":
			n.Why = view.Optional("it came, or came back, at 01:59:50Z and may have lost its memory: it votes on ticks after 02:00:10Z")
		}
		d.nodes = append(d.nodes, n)
	}
	for i, state := range []string{roster.StateReady, roster.StateReady, roster.StateDraining} {
		d.replicas = append(d.replicas, view.NewReplica(roster.Replica{
			ID: fmt.Sprintf("web-%d-4f2a", i+1), Version: "v1.2.3", Host: fmt.Sprintf("web-%d", i+1), PID: 4711, State: state,
			Started: cmdtest.Tick.Add(-3*time.Hour - 12*time.Minute), Seen: cmdtest.Tick.Add(-2 * time.Second), Running: []string{"nightly-report", "import"}[:i%2],
		}))
	}
	stale := cmdtest.Entries()[0]
	stale.Job, stale.StaleWrites = "customers.refresh", 2
	again := cmdtest.Entries()[1]
	again.Tick = again.Tick.Add(-10 * time.Minute)
	running := cmdtest.Entries()[0]
	running.Job, running.Outcome, running.Finished, running.Attempt = "backup", ledger.Running, time.Time{}, 2
	for _, e := range append(cmdtest.Entries(), stale, again, running) {
		d.ticks = append(d.ticks, view.NewTick(e))
	}
	d.running = []view.Run{view.NewRun(running)}
	for i, job := range []string{"heartbeat", "nightly-report", "billing.invoices.and.reminders.of.all.customers"} {
		d.next = append(d.next, view.Next{Job: job, Tick: *view.Stamp(cmdtest.Tick.Add(time.Duration(1+i*i*3000) * 4 * time.Second))})
	}
	d.next[2].Note = view.Optional("after the gap")
	return d
}

// thousand has a thousand jobs, all of which fail, run, and come next.
func thousand() snapshot {
	d := troubled()
	one, running, next := d.ticks[1], d.running[0], d.next[0]
	d.ticks, d.running, d.next = nil, nil, nil
	for i := range 1000 {
		name := fmt.Sprintf("job-%04d", i)
		one.Job, running.Job, next.Job = name, name, name
		d.ticks, d.running, d.next = append(d.ticks, one), append(d.running, running), append(d.next, next)
	}
	return d
}

// noQuorum is the cluster when three nodes have gone, 14 seconds later.
func noQuorum() snapshot {
	d := troubled()
	d.nodes[0].State, d.nodes[0].RTTMillis = "down", nil
	d.err = fmt.Errorf("listing replicas: %w: 2 of 5 nodes answered", locking.ErrNoQuorum)
	d.read = cmdtest.Tick.Add(-14 * time.Second)
	return d
}

// TestTopFrames holds frames to golden files, and each to its terminal: it never
// has a line too many, nor one that is too long.
func TestTopFrames(t *testing.T) {
	t.Parallel()
	nothing := snapshot{nodes: troubled().nodes, since: cmdtest.Tick.Add(-time.Hour), read: cmdtest.Tick}
	unreached := snapshot{nodesErr: errors.New("--server: connection refused"), err: errors.New("--server: connection refused")}
	cut := troubled()
	cut.since, cut.cut = cmdtest.Tick.Add(-9*time.Minute-50*time.Second), true
	cut.next[0].Tick, cut.next[0].Start = *view.Stamp(cmdtest.Tick.Add(-time.Minute)), view.Stamp(cmdtest.Tick.Add(4*time.Second)) // by jitter
	for _, tc := range []struct {
		name          string
		data          snapshot
		width, height int
		color, help   bool
	}{
		{"80x24", troubled(), 80, 24, false, false},
		{"120x40", troubled(), 120, 40, false, false},
		{"40x10", troubled(), 40, 10, false, false},
		{"color", troubled(), 80, 24, true, false},
		{"noquorum", noQuorum(), 80, 24, false, false},
		{"noquorum-color", noQuorum(), 80, 24, true, false},
		{"never", snapshot{nodes: noQuorum().nodes, err: noQuorum().err}, 80, 24, false, false},
		{"unreached", unreached, 80, 24, false, false},
		{"nothing", nothing, 80, 24, false, false},
		{"thousand", thousand(), 80, 24, false, false},
		{"cut", cut, 80, 24, false, false},
		{"help", troubled(), 80, 24, false, true},
		{"1x1", troubled(), 1, 1, false, false},
		{"endless", troubled(), 80, 0, false, false},
	} {
		v := layout{
			name: "namespace quorate", remedy: "Start the nodes that are down: quorate store check says what each lacks.", note: "every 2s",
			width: tc.width, height: tc.height, color: tc.color, state: state{help: tc.help}, live: tc.height > 0, now: cmdtest.Tick,
		}
		lines := tc.data.frame(v)
		cmdtest.Golden(t, tc.name+".txt", strings.Join(lines, "\n")+"\n")
		if tc.height > 0 && len(lines) > tc.height {
			t.Errorf("%s: %d lines for %d", tc.name, len(lines), tc.height)
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); !tc.color && n > tc.width {
				t.Errorf("%s: %d columns for %d: %s", tc.name, n, tc.width, l)
			}
			if strings.Contains(l, "\x1b") != tc.color && !tc.color {
				t.Errorf("%s: escape codes without colour: %q", tc.name, l)
			}
		}
	}
}

// A job that failed often and missed a tick has a row for either, each with its own number.
func TestTopCountsOutcomesApart(t *testing.T) {
	t.Parallel()
	d := snapshot{since: cmdtest.Tick.Add(-time.Hour), read: cmdtest.Tick}
	for n, o := range []ledger.Outcome{ledger.Missed, ledger.Failed, ledger.Failed, ledger.Failed, ledger.Missed, ledger.TimedOut} {
		d.ticks = append(d.ticks, view.NewTick(ledger.Entry{Job: "report", Tick: cmdtest.Tick.Add(-time.Duration(n) * time.Second), Token: 1, Outcome: o}))
	}
	text := strings.Join(d.frame(layout{name: "x", width: 100, now: cmdtest.Tick}), "\n")
	for _, want := range []string{"report  missed     2 times", "report  failed     3 times", "report  timed out"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestTopPassesNothingOn: foreign texts cannot control the terminal.
func TestTopPassesNothingOn(t *testing.T) {
	t.Parallel()
	d := troubled()
	d.ticks[1].Error = view.Optional("\x1b]0;owned\x07\x1b[2J\u202egnorw")
	d.replicas[0].Host = "\x1b[31mred"
	for _, l := range d.frame(layout{name: "x", width: 200, height: 60, now: cmdtest.Tick}) {
		if strings.ContainsAny(l, "\x1b\x07\u202e") {
			t.Errorf("passed on: %q", l)
		}
	}
}
