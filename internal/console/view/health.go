package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Level says how urgent something is.
type Level string

// The levels, from nothing to do to lost ticks.
const (
	Calm Level = "calm"
	Good Level = "good"
	Warn Level = "warn"
	Bad  Level = "bad"
)

// Weight orders levels.
func (l Level) Weight() int { return slices.Index([]Level{Calm, Good, Warn, Bad}, l) }

// A Sentence describes the state of a part of the cluster.
type Sentence struct {
	Level Level
	Text  string
	More  string // a second sentence: what it means or what to do; may be empty
}

// SilentAfter is how long after its last heartbeat a replica counts as silent. Replicas
// beat three times in SeenLately, and a beat times out well before this: a heartbeat is
// lost, not merely slow. The other half leaves time to see the replica on the roster.
const SilentAfter = scheduler.SeenLately / 2

// Silence is how long a silent replica has sent no heartbeat; 0 if it is not silent or
// its last heartbeat is unknown.
func (r Replica) Silence(asOf time.Time) time.Duration {
	seen := Time(r.Seen)
	if quiet := asOf.Sub(seen); !seen.IsZero() && quiet > SilentAfter {
		return quiet
	}
	return 0
}

// Level is Good for a replica that takes ticks normally.
func (r Replica) Level(asOf time.Time) Level {
	if r.State != scheduler.StateReady || r.Silence(asOf) > 0 {
		return Warn
	}
	return Good
}

// ClockOff reports whether the replica's clock needs setting: it is skewed, or its times
// had to be corrected.
func (r Replica) ClockOff() bool {
	return r.State == scheduler.StateSkewed || r.OffsetMilli != nil && r.offset().Abs() >= noticeableOffset
}

// Level is Bad for a node that will not vote again without an operator, as in `nodes
// check`. An abstaining node votes after its grace, a slow one when it is less busy.
func (n Node) Level() Level {
	switch n.State {
	case NodeVoting, NodeReady:
		return Good
	case NodeAbstaining, NodeSlow:
		return Warn
	}
	return Bad
}

// FailedOutcomes are the outcomes of unsuccessful runs.
func FailedOutcomes() []ledger.Outcome {
	return []ledger.Outcome{ledger.Failed, ledger.TimedOut, ledger.LeaseLost, ledger.Interrupted}
}

// Level is Bad for a failed run; Warn for a missed tick, if a guard refused a write, or if
// an earlier attempt was interrupted.
func (t Tick) Level() Level {
	switch {
	case slices.Contains(FailedOutcomes(), t.Outcome):
		return Bad
	case t.Outcome == ledger.Missed, t.Outcome == ledger.Unreadable, t.StaleWrites > 0, t.Interruptions > 0:
		return Warn
	case t.Outcome == ledger.Succeeded:
		return Good
	}
	return Calm
}

// Quorate returns locking.ErrNoQuorum unless a quorum of the nodes answers. An abstaining
// node answers: see MarginOf for votes.
func Quorate(nodes []Node) error {
	answered := 0
	for _, n := range nodes {
		if Answers(n.State) {
			answered++
		}
	}
	if one := len(nodes) == 1 && nodes[0].Kind == KindStore; one && answered == 0 {
		return errStoreDown
	}
	return QuorumOf(answered, len(nodes))
}

// errStoreDown is that of Quorate for the only store.
var errStoreDown = fmt.Errorf("%w: start it, or its standby", kv.ErrUnavailable)

// QuorumOf returns locking.ErrNoQuorum unless a quorum of the nodes has answered.
func QuorumOf(answered, nodes int) error {
	if answered > nodes/2 || nodes == 0 {
		return nil
	}
	start := "the others"
	if nodes == 1 {
		start = "it"
	}
	return fmt.Errorf("%w: %d of %d; start %s", locking.ErrNoQuorum, answered, nodes, start)
}

// TickHealth counts the outcomes of the latest ticks since a time. Cut: there were earlier
// ones. Its second sentence is about the last of the worst ticks.
func TickHealth(latest []Tick, cut bool, since string) Sentence {
	s := Sentence{Level: Calm}
	refused, again := 0, 0
	counts := map[ledger.Outcome]int{}
	for _, t := range latest {
		outcome := t.Outcome
		if slices.Contains(FailedOutcomes(), outcome) {
			outcome = ledger.Failed
		}
		counts[outcome]++
		if t.StaleWrites > 0 {
			refused++
		}
		if t.Interruptions > 0 {
			again++
		}
		if level := t.Level(); s.Level.Weight() < level.Weight() {
			if s.Level = level; level != Good {
				s.More = "Last " + t.trouble() + ": " + t.Job + "."
			}
		}
	}
	var parts []string
	for _, o := range []ledger.Outcome{ledger.Succeeded, ledger.Failed, ledger.Missed, ledger.Cancelled, ledger.Skipped, ledger.Unreadable} {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
		}
	}
	if refused > 0 {
		parts = append(parts, fmt.Sprintf("%d with refused writes", refused))
	}
	if again > 0 {
		parts = append(parts, fmt.Sprintf("%d interrupted and run again", again))
	}
	if len(parts) == 0 {
		return Sentence{Level: Calm, Text: "No tick has ended since " + since + "."}
	}
	of := "Ticks"
	if cut {
		of = fmt.Sprintf("Latest %d ticks", len(latest))
	}
	s.Text = fmt.Sprintf("%s since %s: %s.", of, since, strings.Join(parts, ", "))
	if i := slices.IndexFunc(latest, func(t Tick) bool { return t.Outcome == ledger.Skipped }); i >= 0 && s.Level.Weight() < Warn.Weight() {
		s.More = "Last skipped: " + latest[i].Job + ", " + Text(latest[i].Reason) + "."
	}
	return s
}

// trouble names what is wrong with a tick.
func (t Tick) trouble() string {
	switch {
	case t.Level() == Bad:
		return strings.ReplaceAll(string(t.Outcome), "_", " ")
	case t.Outcome == ledger.Missed:
		return string(ledger.Missed)
	case t.StaleWrites > 0:
		return "refused write"
	}
	return "interrupted and run again"
}

// NoTickPlanned is the sentence for an empty list of next ticks.
func NoTickPlanned() Sentence {
	return Sentence{Level: Calm, Text: "No tick is planned: no job is served, or none has ticks left."}
}

// ReplicaHealth describes the replicas on the roster, and those that ran one of the
// latest ticks and are gone. Drift reports whether they serve different sets of jobs.
func ReplicaHealth(replicas []Replica, latest []Tick, asOf time.Time) (s Sentence, drift bool) {
	odd, ready, drift := replicaProblems(Present(replicas), asOf)
	lost, longAgo := lostReplicas(replicas, asOf)
	present := len(Present(replicas))
	odd = append(odd, lost...)
	s = Sentence{Level: Good, Text: Count(present, "replica", "replicas")}
	switch {
	case present == 0 && len(lost) > 0:
		return Sentence{Bad, "No replica runs, so no tick starts; " + And(lost) + ".", "Start one with quorate run."}, false
	case present == 0:
		return Sentence{Bad, "No replica runs, so no tick starts.", "Start one with quorate run."}, false
	case ready == 0:
		s.Level, s.Text = Bad, s.Text+", none ready: "+And(odd)
	case len(odd) > 0:
		s.Level, s.Text = Warn, s.Text+"; "+And(odd)
	case ready == 1:
		s.Level, s.Text = Calm, s.Text+", ready; no other can take over"
	default:
		s.Text += ", all ready"
	}
	s.Text += "."
	gone, hurt := goneReplicas(replicas, latest)
	if len(longAgo) > 0 {
		gone = strings.TrimSuffix(And(longAgo)+". "+gone, " ")
	}
	if s.More = gone; hurt && s.Level != Bad {
		s.Level = Warn
	}
	if drift && ready > 0 {
		s.Level, s.More = Warn, "They serve different configurations: a rollout is under way or incomplete."
	}
	if slices.ContainsFunc(replicas, func(r Replica) bool { return len(r.Strangers) > 0 }) {
		s.Level, s.More = Warn, "They serve other jobs under the same names, and no roll-out explains it."
	}
	return s, drift && ready > 0
}

// replicaProblems describes the replicas that are silent or not ready, counts those that
// take ticks, and reports whether they serve different sets of jobs.
func replicaProblems(replicas []Replica, asOf time.Time) (odd []string, ready int, drift bool) {
	for i, r := range replicas {
		drift = drift || Text(r.ConfigHash) != Text(replicas[0].ConfigHash)
		switch quiet := r.Silence(asOf); {
		case quiet > 0:
			odd = append(odd, r.ID+" has been silent for "+Span(quiet.Truncate(time.Second)))
			continue
		case r.State != scheduler.StateReady:
			odd = append(odd, r.ID+" "+r.Problem())
		}
		if r.Shared && (i == 0 || replicas[i-1].ID != r.ID) {
			odd = append(odd, r.ID+" runs twice")
		}
		if r.State == scheduler.StateReady || r.State == scheduler.StateSkewed { // skewed ones run the ticks that others leave
			ready++
		}
	}
	return odd, ready, drift
}

// lostAlarm is how long a lost replica is a warning; afterwards it is only mentioned.
const lostAlarm = time.Hour

// lostReplicas describes the lost replicas, those of the last hour apart.
func lostReplicas(replicas []Replica, asOf time.Time) (lately, longAgo []string) {
	for _, r := range replicas {
		if r.State != scheduler.StateLost {
			continue
		}
		quiet := asOf.Sub(Time(r.Seen)).Truncate(time.Second)
		if text := r.ID + " is lost, silent for " + Span(quiet); quiet <= lostAlarm {
			lately = append(lately, text)
		} else {
			longAgo = append(longAgo, text)
		}
	}
	return lately, longAgo
}

// goneReplicas names the replicas that ran one of the latest ticks and have left, and
// reports whether one that left or was lost has an unfinished run.
func goneReplicas(replicas []Replica, latest []Tick) (text string, hurt bool) {
	known, there := map[string]bool{"": true}, map[string]bool{"": true}
	for _, r := range replicas {
		known[r.ID], there[r.ID] = true, r.State != scheduler.StateLost
	}
	var names, broken []string
	for _, t := range latest {
		id := Text(t.Replica)
		if there[id] || !t.Ran() {
			continue
		}
		if !known[id] && !slices.Contains(names, id) {
			names = append(names, id)
		}
		if t.Outcome == ledger.Interrupted && !slices.Contains(broken, t.Job) {
			broken = append(broken, t.Job)
		}
	}
	switch {
	case len(names) == 1:
		text = names[0] + " has gone. "
	case len(names) > 1:
		text = And(names) + " have gone. "
	}
	if len(broken) > 0 {
		text += "Unfinished: a run of " + And(broken) + "."
	}
	return strings.TrimSpace(text), len(broken) > 0
}
