package listing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestReplicaHealth: one sentence says which replicas are silent, not ready, or gone, and
// whether that costs anything.
func TestReplicaHealth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	replica := func(id, state, hash string, ago time.Duration) listing.Replica {
		return listing.Replica{ID: id, State: state, Seen: listing.Stamp(now.Add(-ago)), ConfigHash: listing.Optional(hash)}
	}
	a, b := replica("a", "ready", "1", listing.SilentAfter), replica("b", "ready", "1", 0)
	silent := replica("b", "ready", "1", 9900*time.Millisecond)
	unseen := listing.Replica{ID: "b", State: "ready", ConfigHash: listing.Optional("1")}
	skewed, behind := replica("b", "skewed", "1", 0), -3600e3
	skewed.OffsetMilli = &behind
	tick := func(job, replica string, outcome ledger.Outcome) listing.Tick {
		return listing.NewTick(ledger.Entry{Job: job, Tick: now, Replica: replica, Outcome: outcome})
	}
	dead := func(ago time.Duration) listing.Replica { return replica("quiet", "lost", "2", ago) }
	went, hurt := tick("report", "old", ledger.Succeeded), tick("sweep", "quiet", ledger.Interrupted)
	never := tick("sweep", "never", ledger.Missed)
	twice, stranger := b, replica("b", "ready", "2", 0)
	twice.Shared, stranger.Strangers = true, []string{"invoices"}
	for _, tc := range []struct {
		name     string
		replicas []listing.Replica
		latest   []listing.Tick
		want     listing.Sentence
		drift    bool
	}{
		{"none", nil, []listing.Tick{went}, listing.Sentence{listing.Bad, "No replica runs, so no tick starts.", "Start one with quorate run."}, false},
		{"one", []listing.Replica{a}, nil, listing.Sentence{listing.Calm, "1 replica, ready; no other can take over.", ""}, false},
		{"two", []listing.Replica{a, b}, []listing.Tick{never}, listing.Sentence{listing.Good, "2 replicas, all ready.", ""}, false},
		{"never seen is not silent", []listing.Replica{a, unseen}, nil, listing.Sentence{listing.Good, "2 replicas, all ready.", ""}, false},
		{"silent", []listing.Replica{a, silent}, nil, listing.Sentence{listing.Warn, "2 replicas; b has been silent for 9.0 s.", ""}, false},
		{"skewed", []listing.Replica{a, skewed}, nil, listing.Sentence{listing.Warn, "2 replicas; b has a clock 1h0m0s behind.", ""}, false},
		{"none ready", []listing.Replica{silent, replica("c", "draining", "2", 0)}, nil, listing.Sentence{listing.Bad, "2 replicas, none ready: b has been silent for 9.0 s and c is draining.", ""}, false},
		{"gone in peace", []listing.Replica{a, b}, []listing.Tick{went, never}, listing.Sentence{listing.Good, "2 replicas, all ready.", "old has gone."}, false},
		{"gone", []listing.Replica{a, b}, []listing.Tick{went, hurt, never}, listing.Sentence{listing.Warn, "2 replicas, all ready.", "old and quiet have gone. Unfinished: a run of sweep."}, false},
		{"lost", []listing.Replica{a, b, dead(19 * time.Second)}, []listing.Tick{went}, listing.Sentence{listing.Warn, "2 replicas; quiet is lost, silent for 19 s.", "old has gone."}, false},
		{"lost with a run", []listing.Replica{a, dead(time.Minute)}, []listing.Tick{hurt}, listing.Sentence{listing.Warn, "1 replica; quiet is lost, silent for 1 min.", "Unfinished: a run of sweep."}, false},
		{"lost long ago", []listing.Replica{a, b, dead(5 * time.Hour)}, nil, listing.Sentence{listing.Good, "2 replicas, all ready.", "quiet is lost, silent for 5 h."}, false},
		{"all lost", []listing.Replica{dead(time.Minute)}, nil, listing.Sentence{listing.Bad, "No replica runs, so no tick starts; quiet is lost, silent for 1 min.", "Start one with quorate run."}, false},
		{"drift", []listing.Replica{a, replica("b", "ready", "2", 0)}, []listing.Tick{went}, listing.Sentence{listing.Warn, "2 replicas, all ready.", "They serve different configurations: a rollout is under way or incomplete."}, true},
		{"one id twice", []listing.Replica{a, twice, twice}, nil, listing.Sentence{listing.Warn, "3 replicas; b runs twice.", ""}, false},
		{"strangers", []listing.Replica{a, stranger}, nil, listing.Sentence{listing.Warn, "2 replicas, all ready.", "They serve other jobs under the same names, and no roll-out explains it."}, true},
	} {
		if got, drift := listing.ReplicaHealth(tc.replicas, tc.latest, now); got != tc.want || drift != tc.drift {
			t.Errorf("%s: %+v %v, want %+v", tc.name, got, drift, tc.want)
		}
	}
}

// TestLevels: a replica, a node and a tick have one level everywhere.
func TestLevels(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for state, want := range map[string]listing.Level{
		"voting": listing.Good, "abstaining": listing.Warn, "slow": listing.Warn,
		"down": listing.Bad, "sealed": listing.Bad, "blank": listing.Bad, "refusing": listing.Bad,
	} {
		if got := (listing.Node{State: state}).Level(); got != want {
			t.Errorf("a node that is %s is %s, want %s", state, got, want)
		}
	}
	for ago, want := range map[time.Duration]listing.Level{7 * time.Second: listing.Good, 8 * time.Second: listing.Warn} {
		if got := (listing.Replica{State: "ready", Seen: listing.Stamp(now.Add(-ago))}).Level(now); got != want {
			t.Errorf("a replica that was seen %v ago is %s, want %s", ago, got, want)
		}
	}
	for outcome, want := range map[ledger.Outcome]listing.Level{
		ledger.Failed: listing.Bad, ledger.Interrupted: listing.Bad, ledger.Missed: listing.Warn,
		ledger.Succeeded: listing.Good, ledger.Skipped: listing.Calm, ledger.Cancelled: listing.Calm,
	} {
		if got := listing.NewTick(ledger.Entry{Tick: now, Outcome: outcome}).Level(); got != want {
			t.Errorf("a tick that %s is %s, want %s", outcome, got, want)
		}
	}
	if got := listing.NewTick(ledger.Entry{Tick: now, Outcome: ledger.Succeeded, Lease: ledger.Lease{Interruptions: 1}}).Level(); got != listing.Warn {
		t.Errorf("a tick that ran again is %s", got)
	}
	if got := listing.NewTick(ledger.Entry{Tick: now, Outcome: ledger.Succeeded, StaleWrites: 1}).Level(); got != listing.Warn {
		t.Errorf("a stale write is %s", got)
	}
	for by, want := range map[float64]bool{499: false, -500: true, 2500: true} {
		if (listing.Replica{State: "ready", OffsetMilli: &by}).ClockOff() != want {
			t.Errorf("a clock %v ms ahead is off: %v", by, !want)
		}
	}
}

func TestTickHealth(t *testing.T) {
	t.Parallel()
	var ticks []listing.Tick
	for _, o := range []ledger.Outcome{ledger.Running, ledger.Succeeded, ledger.TimedOut, ledger.LeaseLost, ledger.Missed, ledger.Skipped} {
		ticks = append(ticks, listing.NewTick(ledger.Entry{Job: "sweep", Tick: time.Unix(1, 0), Outcome: o, Reason: ledger.TextReason("words")}))
	}
	stale := []listing.Tick{ticks[1]}
	stale[0].StaleWrites = 2
	again := []listing.Tick{ticks[1], ticks[0]}
	again[0].Interruptions, again[1].Interruptions = 1, 2
	for _, tc := range []struct {
		ticks []listing.Tick
		cut   bool
		want  listing.Sentence
	}{
		{ticks[:1], false, listing.Sentence{listing.Calm, "No tick has ended since 10:00.", ""}},
		{ticks[:2], false, listing.Sentence{listing.Good, "Ticks since 10:00: 1 succeeded.", ""}},
		{[]listing.Tick{ticks[5], ticks[1]}, false, listing.Sentence{listing.Good, "Ticks since 10:00: 1 succeeded, 1 skipped.", "Last skipped: sweep, words."}},
		{ticks, true, listing.Sentence{listing.Bad, "Latest 6 ticks since 10:00: 1 succeeded, 2 failed, 1 missed, 1 skipped.", "Last timed out: sweep."}},
		{stale, false, listing.Sentence{listing.Warn, "Ticks since 10:00: 1 succeeded, 1 with refused writes.", "Last refused write: sweep."}},
		{again, false, listing.Sentence{listing.Warn, "Ticks since 10:00: 1 succeeded, 2 interrupted and run again.", "Last interrupted and run again: sweep."}},
	} {
		if got := listing.TickHealth(tc.ticks, tc.cut, "10:00"); got != tc.want {
			t.Errorf("%+v, want %+v", got, tc.want)
		}
	}
}

// An abstaining node answers, although it does not vote.
func TestQuorate(t *testing.T) {
	t.Parallel()
	for want, nodes := range map[string][]listing.Node{
		"":       nodesIn("voting", "abstaining", "down"),
		"1 of 3": nodesIn("voting", "slow", "down"),
	} {
		err := listing.Quorate(nodes)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", nodes, err, want)
		}
	}
}

// One store that does not answer has no others, and no quorum.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	if err := listing.Quorate(theStore("abstaining")); err != nil {
		t.Error(err)
	}
	err := listing.Quorate(theStore("down"))
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
		if err := listing.QuorumOf(0, nodes); err == nil || err.Error() != want {
			t.Errorf("of %d nodes: %v, want %q", nodes, err, want)
		}
	}
}
