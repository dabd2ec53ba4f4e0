package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Margin says how many more nodes may fail before no tick can start, or how the only store
// is.
type Margin struct {
	Sentence
	Brief   string // Text without the names of nodes that do not vote
	Stopped bool   // no tick can start
}

// MarginOf returns the margin of the nodes.
func MarginOf(nodes []Node) Margin {
	if len(nodes) == 1 && nodes[0].Kind == KindStore {
		s := storeSentence(nodes[0])
		return Margin{s, s.Text, nodes[0].State != NodeReady}
	}
	voting, slow, away, waiting := tally(nodes)
	needed := len(nodes)/2 + 1
	count := fmt.Sprintf("%d of %s vote", voting, Count(len(nodes), "node", "nodes"))
	if voting == 1 {
		count += "s"
	}
	m := Margin{Stopped: voting < needed}
	var meaning string
	switch spare := voting - needed; {
	case spare < 0 && spare+slow >= 0:
		m.Level, meaning = Warn, fmt.Sprintf(": some are slow to answer. No tick can start until %d answer in time.", needed)
		m.More = "They answered a moment ago, so they, this machine or the network may only be busy. Look again shortly."
	case spare < 0 && len(waiting) > 0 && len(waiting) == len(away):
		m.Level, meaning = Warn, fmt.Sprintf(": the nodes are new or have restarted. No tick can start until %d of them vote.", needed)
		m.More = afterGrace(waiting[-spare-1])
	case spare < 0:
		m.Level, meaning = Bad, fmt.Sprintf(": no quorum. No tick can start until %d of them vote.", needed)
		m.More = quorumAdvice(nodes)
	case spare == 0 && len(nodes) == 1:
		m.Level, meaning = Calm, "; it is the only one: no tick starts while it is down."
	case spare == 0:
		m.Level, meaning = Warn, "; one more loss and no tick can start."
	case spare == 1:
		m.Level, meaning = Good, "; one more loss is fine."
	default:
		m.Level, meaning = Good, fmt.Sprintf("; %d losses are fine.", spare)
	}
	m.Text, m.Brief = count+meaning, count+meaning
	if len(away) > 0 {
		m.Text = count + " (" + And(away) + ")" + meaning
		if m.Level == Good {
			m.Level = Warn
		}
	}
	return m
}

// tally counts the nodes that vote and the slow ones, and names those that do not vote.
// Waiting are the times at which abstaining ones vote again, in order.
func tally(nodes []Node) (voting, slow int, away, waiting []string) {
	for _, n := range nodes {
		switch n.State {
		case NodeVoting:
			voting++
			continue
		case NodeSlow:
			slow++
		case NodeAbstaining:
			waiting = append(waiting, Text(n.VouchesAt))
		}
		away = append(away, n.Node+" is "+n.State)
	}
	slices.Sort(waiting)
	return voting, slow, away, waiting
}

// afterGrace says when enough of the abstaining nodes vote again.
func afterGrace(at string) string {
	if at == "" {
		return "They do by themselves after their grace."
	}
	return "They do by themselves after their grace, from " + clockOf(&at) + " on."
}

// quorumAdvice says what to do without a quorum.
func quorumAdvice(nodes []Node) string {
	text, unwell := "", false
	for _, n := range nodes {
		switch n.State {
		case NodeDown:
			text = "Start the nodes that are down. "
		case NodeVoting, NodeSlow, NodeAbstaining:
		default:
			unwell = true
		}
	}
	if unwell {
		text += "quorate store check says what the nodes lack. "
	}
	return text + "A restarted node votes again after its grace. Until then running jobs lose their leases."
}

// storeSentence describes the only store, and what having one means.
func storeSentence(n Node) Sentence {
	switch n.State {
	case NodeReady:
		return Sentence{
			Calm, "The store is ready. There is only one: no tick starts while it is down.",
			"After a failover no tick starts for a grace, and tokens continue to grow. quorate store check says what a failover would lose.",
		}
	case NodeAbstaining:
		return Sentence{
			Warn, "The store is new, or another server has taken over: no tick starts before " + clockOf(n.VouchesAt) + ".",
			"It may have forgotten earlier ticks, so it does not grant them again. Running jobs continue, and tokens continue to grow.",
		}
	case NodeRefusing:
		return Sentence{Bad, "The store refuses what ticks need: no tick can start.", Text(n.Error)}
	}
	return Sentence{
		Bad, "The store does not answer: no tick can start.",
		"Start it, or its standby; quorate store check says what is wrong. Running jobs stop when they cannot extend their leases.",
	}
}

// clockOf is the time of day of a stamp.
func clockOf(stamp *string) string {
	return Time(stamp).UTC().Format(time.TimeOnly) + " UTC"
}

// A Level says how urgent something is.
type Level string

// The levels, from nothing to do to lost ticks.
const (
	Calm Level = "calm"
	Good Level = "good"
	Busy Level = "busy" // a run goes on
	Warn Level = "warn"
	Bad  Level = "bad"
)

// Weight orders levels.
func (l Level) Weight() int { return slices.Index([]Level{Calm, Good, Busy, Warn, Bad}, l) }

// A Sentence describes the state of a part of the cluster.
type Sentence struct {
	Level Level
	Text  string
	More  string // a second sentence: what it means or what to do; may be empty
}

// SilentAfter is how long after its last heartbeat a replica counts as silent. Replicas
// beat three times in SeenLately, and a beat times out well before this: a heartbeat is
// lost, not merely slow. The other half leaves time to see the replica on the roster.
const SilentAfter = roster.SeenLately / 2

// Silence is how long a silent replica has sent no heartbeat; 0 if it is not silent or
// its last heartbeat is unknown.
func (r Replica) Silence(asOf time.Time) time.Duration {
	seen := Time(r.Seen)
	if quiet := asOf.Sub(seen); !seen.IsZero() && quiet > SilentAfter {
		return quiet
	}
	return 0
}

// TakesTicks reports whether the replica takes ticks; skewed ones take those that others leave.
func (r Replica) TakesTicks(asOf time.Time) bool {
	return (r.State == roster.StateReady || r.State == roster.StateSkewed) && r.Silence(asOf) == 0
}

// Level is Good for a replica that takes ticks normally.
func (r Replica) Level(asOf time.Time) Level {
	if r.State != roster.StateReady || r.Silence(asOf) > 0 {
		return Warn
	}
	return Good
}

// ClockOff reports whether the replica's clock needs setting: it is skewed, or its times
// had to be corrected.
func (r Replica) ClockOff() bool {
	return r.State == roster.StateSkewed || r.OffsetMilli != nil && r.offset().Abs() >= noticeableOffset
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

// UnsuccessfulOutcomes are the outcomes of ticks that are over, without a success and not skipped.
func UnsuccessfulOutcomes() []ledger.Outcome {
	return append(FailedOutcomes(), ledger.Missed, ledger.Cancelled)
}

// Level is that of its outcome; Warn at least if a guard refused a write, or if an earlier attempt was interrupted. A
// run that goes on says nothing yet.
func (t Tick) Level() Level {
	switch level := MarkOf(t.Outcome).Level; {
	case (t.StaleWrites > 0 || t.Interruptions > 0) && level != Bad:
		return Warn
	case level == Busy:
		return Calm
	default:
		return level
	}
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

// errStoreDown is what Quorate returns while the only store is down.
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
				s.More = "Last " + t.problem() + ": " + t.Job + "."
			}
		}
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	for _, o := range []ledger.Outcome{ledger.Succeeded, ledger.Failed, ledger.Missed, ledger.Cancelled, ledger.Skipped, ledger.Unreadable} {
		add(counts[o], string(o))
	}
	add(refused, "with refused writes")
	add(again, "interrupted and run again")
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

// problem names the problem of a tick whose level is Bad or Warn.
func (t Tick) problem() string {
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
	case present == 0:
		return Sentence{Bad, Join("; ", "No replica runs, so no tick starts", And(lost)) + ".", "Start one with quorate run."}, false
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
		case r.State != roster.StateReady:
			odd = append(odd, r.ID+" "+r.Problem())
		}
		if r.Shared && (i == 0 || replicas[i-1].ID != r.ID) {
			odd = append(odd, r.ID+" runs twice")
		}
		if r.State == roster.StateReady || r.State == roster.StateSkewed { // skewed ones run the ticks that others leave
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
		if r.State != roster.StateLost {
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
		known[r.ID], there[r.ID] = true, r.State != roster.StateLost
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
