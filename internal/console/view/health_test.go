package view_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestReplicaHealth: one sentence says which replicas are silent, not ready, or gone, and
// whether that costs anything.
func TestReplicaHealth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	replica := func(id, state, hash string, ago time.Duration) view.Replica {
		return view.Replica{ID: id, State: state, Seen: view.Stamp(now.Add(-ago)), ConfigHash: view.Optional(hash)}
	}
	a, b := replica("a", "ready", "1", view.SilentAfter), replica("b", "ready", "1", 0)
	silent := replica("b", "ready", "1", 9900*time.Millisecond)
	unseen := view.Replica{ID: "b", State: "ready", ConfigHash: view.Optional("1")}
	skewed, behind := replica("b", "skewed", "1", 0), -3600e3
	skewed.OffsetMilli = &behind
	tick := func(job, replica string, outcome ledger.Outcome) view.Tick {
		return view.NewTick(ledger.Entry{Job: job, Tick: now, Replica: replica, Outcome: outcome})
	}
	dead := func(ago time.Duration) view.Replica { return replica("quiet", "lost", "2", ago) }
	went, hurt := tick("report", "old", ledger.Succeeded), tick("sweep", "quiet", ledger.Interrupted)
	never := tick("sweep", "never", ledger.Missed)
	twice, stranger := b, replica("b", "ready", "2", 0)
	twice.Shared, stranger.Strangers = true, []string{"invoices"}
	for _, tc := range []struct {
		name     string
		replicas []view.Replica
		latest   []view.Tick
		want     view.Sentence
		drift    bool
	}{
		{"none", nil, []view.Tick{went}, view.Sentence{view.Bad, "No replica runs, so no tick starts.", "Start one with quorate run."}, false},
		{"one", []view.Replica{a}, nil, view.Sentence{view.Calm, "1 replica, ready; no other can take over.", ""}, false},
		{"two", []view.Replica{a, b}, []view.Tick{never}, view.Sentence{view.Good, "2 replicas, all ready.", ""}, false},
		{"never seen is not silent", []view.Replica{a, unseen}, nil, view.Sentence{view.Good, "2 replicas, all ready.", ""}, false},
		{"silent", []view.Replica{a, silent}, nil, view.Sentence{view.Warn, "2 replicas; b has been silent for 9.0 s.", ""}, false},
		{"skewed", []view.Replica{a, skewed}, nil, view.Sentence{view.Warn, "2 replicas; b has a clock 1h0m0s behind.", ""}, false},
		{"none ready", []view.Replica{silent, replica("c", "draining", "2", 0)}, nil, view.Sentence{view.Bad, "2 replicas, none ready: b has been silent for 9.0 s and c is draining.", ""}, false},
		{"gone in peace", []view.Replica{a, b}, []view.Tick{went, never}, view.Sentence{view.Good, "2 replicas, all ready.", "old has gone."}, false},
		{"gone", []view.Replica{a, b}, []view.Tick{went, hurt, never}, view.Sentence{view.Warn, "2 replicas, all ready.", "old and quiet have gone. Unfinished: a run of sweep."}, false},
		{"lost", []view.Replica{a, b, dead(19 * time.Second)}, []view.Tick{went}, view.Sentence{view.Warn, "2 replicas; quiet is lost, silent for 19 s.", "old has gone."}, false},
		{"lost with a run", []view.Replica{a, dead(time.Minute)}, []view.Tick{hurt}, view.Sentence{view.Warn, "1 replica; quiet is lost, silent for 1 min.", "Unfinished: a run of sweep."}, false},
		{"lost long ago", []view.Replica{a, b, dead(5 * time.Hour)}, nil, view.Sentence{view.Good, "2 replicas, all ready.", "quiet is lost, silent for 5 h."}, false},
		{"all lost", []view.Replica{dead(time.Minute)}, nil, view.Sentence{view.Bad, "No replica runs, so no tick starts; quiet is lost, silent for 1 min.", "Start one with quorate run."}, false},
		{"drift", []view.Replica{a, replica("b", "ready", "2", 0)}, []view.Tick{went}, view.Sentence{view.Warn, "2 replicas, all ready.", "They serve different configurations: a rollout is under way or incomplete."}, true},
		{"one id twice", []view.Replica{a, twice, twice}, nil, view.Sentence{view.Warn, "3 replicas; b runs twice.", ""}, false},
		{"strangers", []view.Replica{a, stranger}, nil, view.Sentence{view.Warn, "2 replicas, all ready.", "They serve other jobs under the same names, and no roll-out explains it."}, true},
	} {
		if got, drift := view.ReplicaHealth(tc.replicas, tc.latest, now); got != tc.want || drift != tc.drift {
			t.Errorf("%s: %+v %v, want %+v", tc.name, got, drift, tc.want)
		}
	}
}

// TestLevels: a replica, a node and a tick have one level everywhere.
func TestLevels(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for state, want := range map[string]view.Level{
		"voting": view.Good, "abstaining": view.Warn, "slow": view.Warn,
		"down": view.Bad, "sealed": view.Bad, "blank": view.Bad, "refusing": view.Bad,
	} {
		if got := (view.Node{State: state}).Level(); got != want {
			t.Errorf("a node that is %s is %s, want %s", state, got, want)
		}
	}
	for ago, want := range map[time.Duration]view.Level{7 * time.Second: view.Good, 8 * time.Second: view.Warn} {
		if got := (view.Replica{State: "ready", Seen: view.Stamp(now.Add(-ago))}).Level(now); got != want {
			t.Errorf("a replica that was seen %v ago is %s, want %s", ago, got, want)
		}
	}
	for outcome, want := range map[ledger.Outcome]view.Level{
		ledger.Failed: view.Bad, ledger.Interrupted: view.Bad, ledger.Missed: view.Warn,
		ledger.Succeeded: view.Good, ledger.Skipped: view.Calm, ledger.Cancelled: view.Warn, ledger.Running: view.Calm,
	} {
		if got := view.NewTick(ledger.Entry{Tick: now, Outcome: outcome}).Level(); got != want {
			t.Errorf("a tick that %s is %s, want %s", outcome, got, want)
		}
	}
	if got := view.NewTick(ledger.Entry{Tick: now, Outcome: ledger.Succeeded, Lease: ledger.Lease{Interruptions: 1}}).Level(); got != view.Warn {
		t.Errorf("a tick that ran again is %s", got)
	}
	if got := view.NewTick(ledger.Entry{Tick: now, Outcome: ledger.Succeeded, StaleWrites: 1}).Level(); got != view.Warn {
		t.Errorf("a stale write is %s", got)
	}
	for by, want := range map[float64]bool{499: false, -500: true, 2500: true} {
		if (view.Replica{State: "ready", OffsetMilli: &by}).ClockOff() != want {
			t.Errorf("a clock %v ms ahead is off: %v", by, !want)
		}
	}
}

func TestTickHealth(t *testing.T) {
	t.Parallel()
	var ticks []view.Tick
	for _, o := range []ledger.Outcome{ledger.Running, ledger.Succeeded, ledger.TimedOut, ledger.LeaseLost, ledger.Missed, ledger.Skipped} {
		ticks = append(ticks, view.NewTick(ledger.Entry{Job: "sweep", Tick: time.Unix(1, 0), Outcome: o, Reason: ledger.TextReason("words")}))
	}
	stale := []view.Tick{ticks[1]}
	stale[0].StaleWrites = 2
	again := []view.Tick{ticks[1], ticks[0]}
	again[0].Interruptions, again[1].Interruptions = 1, 2
	for _, tc := range []struct {
		ticks []view.Tick
		cut   bool
		want  view.Sentence
	}{
		{ticks[:1], false, view.Sentence{view.Calm, "No tick has ended since 10:00.", ""}},
		{ticks[:2], false, view.Sentence{view.Good, "Ticks since 10:00: 1 succeeded.", ""}},
		{[]view.Tick{ticks[5], ticks[1]}, false, view.Sentence{view.Good, "Ticks since 10:00: 1 succeeded, 1 skipped.", "Last skipped: sweep, words."}},
		{ticks, true, view.Sentence{view.Bad, "Latest 6 ticks since 10:00: 1 succeeded, 2 failed, 1 missed, 1 skipped.", "Last timed out: sweep."}},
		{stale, false, view.Sentence{view.Warn, "Ticks since 10:00: 1 succeeded, 1 with refused writes.", "Last refused write: sweep."}},
		{again, false, view.Sentence{view.Warn, "Ticks since 10:00: 1 succeeded, 2 interrupted and run again.", "Last interrupted and run again: sweep."}},
	} {
		if got := view.TickHealth(tc.ticks, tc.cut, "10:00"); got != tc.want {
			t.Errorf("%+v, want %+v", got, tc.want)
		}
	}
}

// An abstaining node answers, although it does not vote.
func TestQuorate(t *testing.T) {
	t.Parallel()
	for want, nodes := range map[string][]view.Node{
		"":       nodesIn("voting", "abstaining", "down"),
		"1 of 3": nodesIn("voting", "slow", "down"),
	} {
		err := view.Quorate(nodes)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", nodes, err, want)
		}
	}
}

// One store that does not answer has no others, and no quorum.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	if err := view.Quorate(theStore("abstaining")); err != nil {
		t.Error(err)
	}
	err := view.Quorate(theStore("down"))
	if !errors.Is(err, locking.ErrNoQuorum) || err.Error() != "the store does not answer: start it, or its standby" {
		t.Errorf("got %v", err)
	}
}

func TestQuorumOfSaysWhatToStart(t *testing.T) {
	t.Parallel()
	for nodes, want := range map[int]string{
		1: "no quorum of nodes answered: 0 of 1; start it",
		3: "no quorum of nodes answered: 0 of 3; start the others",
	} {
		if err := view.QuorumOf(0, nodes); err == nil || err.Error() != want {
			t.Errorf("of %d nodes: %v, want %q", nodes, err, want)
		}
	}
}
