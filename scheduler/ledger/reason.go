package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Code says why a tick did not run, or why a run ended as it did. Metrics count by it and
// listings filter by it.
type Code string

// The codes of ticks that did not run.
const (
	CodeOverlap     Code = "overlap"     // an earlier run had not ended
	CodePaused      Code = "paused"      // by a person, or in the configuration
	CodeLimit       Code = "limit"       // of a group, or of the replica
	CodePlacement   Code = "placement"   // no live replica has the labels
	CodeCatchUp     Code = "catch_up"    // the policy did not catch it up; With says why it was missed
	CodeNoQuorum    Code = "no_quorum"   // the store, or too few of its nodes, answered
	CodeSplit       Code = "split"       // competitors blocked one another until it was too late
	CodeTooSlow     Code = "too_slow"    // a claim was complete too late
	CodeClock       Code = "clock"       // the replica's clock is ahead of the store's
	CodeSuperseded  Code = "superseded"  // a later tick was claimed first
	CodeUnvouched   Code = "unvouched"   // the store may have forgotten it
	CodeRefused     Code = "refused"     // the store refuses the claim
	CodeUndecided   Code = "undecided"   // a claim was begun and never completed
	CodeDrained     Code = "drained"     // the replica drained; of runs, too
	CodeBehind      Code = "behind"      // an earlier tick was still being decided
	CodeTooLate     Code = "too_late"    // the claim came too late to begin
	CodeAsleep      Code = "asleep"      // the replica was asleep, stopped or too busy
	CodeNoReplica   Code = "no_replica"  // no replica was known to serve the job
	CodeStarting    Code = "starting"    // the replica did not know yet what is paused
	CodeRemoved     Code = "removed"     // the job was taken out of the configuration
	CodeRescheduled Code = "rescheduled" // its schedule was changed
	CodeExpired     Code = "expired"     // a request that nobody could begin in time
	CodeCancelled   Code = "cancelled"   // somebody ended it; of runs, too

	CodeUnknown        Code = "unknown"         // the reason is unknown
	CodeHistoryLost    Code = "history_lost"    // nodes may have lost what they knew of it
	CodeHistoryTrimmed Code = "history_trimmed" // its entry was dropped
	CodeUnreadable     Code = "unreadable"      // its entry, or a part of it, cannot be read
)

// The codes of runs, besides CodeDrained and CodeCancelled.
const (
	CodeFunction    Code = "function"    // it decided to skip its work
	CodeReplaced    Code = "replaced"    // by a later tick
	CodeMaxHold     Code = "max_hold"    // it took longer than lock.max_hold
	CodeEvicted     Code = "evicted"     // an operator released its lease
	CodeLost        Code = "lost"        // its lease could not be kept
	CodeTimeout     Code = "timeout"     // it, or its last call, took too long
	CodeInterrupted Code = "interrupted" // its end was not recorded
)

// The codes of additional reasons.
const (
	CodeNoRetry      Code = "no_retry"      // the policy had allowed another call
	CodeStaleWrites  Code = "stale_writes"  // a guard refused writes
	CodeNotTriggered Code = "not_triggered" // a job that should follow was not triggered
	CodeLateEnd      Code = "late_end"      // it ended when other replicas could already work
	CodeAlike        Code = "alike"         // earlier ticks without an entry, too
)

// CodeOther is for reasons without their own code.
const CodeOther Code = "other"

// Codes lists all of them.
func Codes() []Code {
	var list []Code
	for _, s := range sentences {
		if !slices.Contains(list, s.code) {
			list = append(list, s.code)
		}
	}
	return list
}

// Outcomes lists the outcomes that the code explains; none for additional reasons.
func (c Code) Outcomes() []Outcome {
	switch c {
	case CodeFunction, CodeOverlap, CodePaused, CodeRemoved, CodeRescheduled:
		return []Outcome{Skipped}
	case CodeMaxHold, CodeEvicted, CodeLost:
		return []Outcome{LeaseLost}
	case CodeReplaced:
		return []Outcome{Cancelled}
	case CodeTimeout:
		return []Outcome{TimedOut}
	case CodeInterrupted:
		return []Outcome{Interrupted}
	case CodeUnreadable:
		return []Outcome{Unreadable}
	case CodeDrained:
		return []Outcome{Missed, Cancelled, Interrupted}
	case CodeCancelled:
		return []Outcome{Skipped, Cancelled}
	case CodeLimit:
		return []Outcome{Skipped, Missed}
	case CodeOther:
		return []Outcome{Skipped, Missed, Cancelled}
	case CodeNoRetry, CodeStaleWrites, CodeNotTriggered, CodeLateEnd, CodeAlike:
		return nil
	}
	return []Outcome{Missed}
}

// A Reason is a code with details. The zero Reason is none. A Reason is never changed, only
// replaced.
type Reason struct {
	Code    Code
	Variant Variant  // distinguishes cases with their own words
	Details *Details // nil: none
}

// A Variant is one of several cases of a Code.
type Variant string

// The variants. Most codes have one case, with an empty variant.
const (
	VariantUnended    Variant = "unended"     // of CodeOverlap: the run did not end, and no node knows its lease
	VariantQueue      Variant = "queue"       // of CodeOverlap: another tick began to wait
	VariantNoLease    Variant = "no_lease"    // of CodeOverlap: the function still runs, without a lease
	VariantConfigured Variant = "configured"  // of CodePaused: in the configuration
	VariantMaxRunning Variant = "max_running" // of CodeLimit: of the replica
	VariantFull       Variant = "full"        // of CodeLimit: all slots of the group are held
	VariantTaken      Variant = "taken"       // of CodeLimit: some are held, competitors try for the rest
	VariantInLine     Variant = "in_line"     // of CodeLimit: others on the replica go first
	VariantSlot       Variant = "slot"        // of CodeLimit: With says why none was granted; of CodeLost: it was the slot's lease
	VariantWaiting    Variant = "waiting"     // of CodeLimit and CodeCancelled: while the tick waited for a slot
	VariantLast       Variant = "last"        // of CodeCatchUp: only the last tick is caught up
	VariantMax        Variant = "max"         // of CodeCatchUp: there are too many
	VariantWindow     Variant = "window"      // of CodeCatchUp: it is too late
	VariantNodes      Variant = "nodes"       // of CodeClock: clocks of nodes are ahead
	VariantStore      Variant = "store"       // of CodeNoQuorum and CodeClock: a store without nodes
	VariantHolder     Variant = "holder"      // of CodeUndecided: another replica's claim
	VariantUnclaimed  Variant = "unclaimed"   // of CodeUndecided: another replica's lock, without a claim
	VariantRequest    Variant = "request"     // of CodeSuperseded: by a later request
	VariantRun        Variant = "run"         // of CodeDrained: a run
	VariantHandedOver Variant = "handed_over" // of CodeDrained: a run that another replica runs again
	VariantTry        Variant = "try"         // of CodeTimeout: the last call
	VariantDrain      Variant = "drain"       // of CodeNoRetry: the replica drains
	VariantDoubtful   Variant = "doubtful"    // of CodeInterrupted: it may not have started
	VariantClaim      Variant = "claim"       // of CodeOther: the claim failed for an unknown cause
)

// Details are the details of one case, each empty if the code does not use it. The ledger
// cuts long texts.
type Details struct {
	Holder       string    // of the blocking lease or slots; several with commas
	Tick         time.Time // of the run that blocks or replaces this one
	Since, Until time.Time
	By           string // the person who requested it
	Of           string // what it is about: a group, a tag, labels, a job, a resource
	N, Most      int    // a number, and its limit or total
	Token, Seen  locking.Token
	Text         string  // what people, functions or nodes said
	With         *Reason // the reason behind this one, or an additional one
}

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r == Reason{} }

// TextReason is a reason with words only.
func TextReason(words string) Reason { return Reason{Code: CodeOther, Details: &Details{Text: words}} }

// with returns the reason behind r, or an additional one, nil if there is none.
func (r Reason) with() *Reason {
	if r.Details == nil {
		return nil
	}
	return r.Details.With
}

// Has reports whether r, or a reason that comes with it, has the code.
func (r Reason) Has(code Code) bool {
	for p := &r; p != nil; p = p.with() {
		if p.Code == code {
			return true
		}
	}
	return false
}

// And returns r with an additional reason; more alone if r is none.
func (r Reason) And(more Reason) Reason {
	switch {
	case r.IsZero():
		return more
	case more.IsZero():
		return r
	}
	d := &Details{}
	if r.Details != nil {
		*d = *r.Details
	}
	with := more // a copy, so runs without one allocate nothing
	if d.With != nil {
		with = d.With.And(more)
	}
	d.With = &with
	r.Details = d
	return r
}

// A sentence has the words for a code and variant. Details are in braces. Text in brackets
// is omitted if its detail is missing.
type sentence struct {
	code    Code
	variant Variant
	text    string
}

// sentences are the words of all reasons. The operator's guide explains each.
var sentences = [...]sentence{
	{CodeOverlap, "", "overlap: {holder} still holds the lease[ of tick {tick}][ until {until}]"},
	{CodeOverlap, VariantUnended, "overlap: {holder} has not ended its run of tick {tick}; its lease may be over"},
	{CodeOverlap, VariantQueue, "overlap: queue holds one tick, a later one came"},
	{CodeOverlap, VariantNoLease, "overlap: {holder} still runs tick {tick}, beyond the end of its lease"},
	{CodePaused, "", "paused: [{of} ]by {by} since {since}[ until {until}]: {text}"},
	{CodePaused, VariantConfigured, "paused in the configuration"},
	{CodeLimit, VariantMaxRunning, "limit: this replica had no run permit for it until its window closed (scheduler.max_running: {most})"},
	{CodeLimit, VariantFull, "limit: group {of} is full ({n} of {most})[: held by {holder}]"},
	{CodeLimit, VariantTaken, "limit: group {of} has no free slot ({n} of {most} are taken)[: held by {holder}]"},
	{CodeLimit, VariantInLine, "limit: group {of} has {most} slots, for which others on this replica go first"},
	{CodeLimit, VariantSlot, "limit: asking for a slot: {with}"},
	{CodeLimit, VariantWaiting, "limit: the lease was lost while the tick waited for a slot of group {of}"},
	{CodePlacement, "", "placement: no live replica has {of}"},
	{CodeCatchUp, VariantLast, "catch_up: last: a later tick came first[ ({with})]"},
	{CodeCatchUp, VariantMax, "catch_up: more than max={most}[ ({with})]"},
	{CodeCatchUp, VariantWindow, "catch_up: window={text} has passed[ ({with})]"},
	{CodeNoQuorum, "", "no quorum[: {text}]"},
	{CodeNoQuorum, VariantStore, "the store did not answer[: {text}]"},
	{CodeSplit, "", "split: competing replicas blocked one another until the window closed"},
	{CodeTooSlow, "", "too slow: the claim was complete too late for its lease; the store was slow, or this replica was frozen or busy[: {text}]"},
	{CodeClock, "", "clock: this replica's clock is too far ahead of the store's; check its time[: {text}]"},
	{CodeClock, VariantNodes, "clock: too few nodes are left without those whose tokens are ahead of the clocks[: {text}]"},
	{CodeClock, VariantStore, "clock: the clock of the store is behind its tokens[: {text}]"},
	{CodeSuperseded, "", "superseded: a later tick was claimed before this replica could claim this one"},
	{CodeSuperseded, VariantRequest, "superseded: a later request was claimed before any replica could claim this one"},
	{CodeUnvouched, "", "unvouched: the store can no longer tell whether the tick has run[: {text}]"},
	{CodeRefused, "", "refused: the store refuses the claim[: {text}]"},
	{CodeUndecided, "", "undecided: this replica gave up a claim of the tick, and could not tell the store"},
	{CodeUndecided, VariantHolder, "undecided: {holder} took the lock for this tick but never said that it runs it"},
	{CodeUndecided, VariantUnclaimed, "undecided: {holder} took the lock and has not claimed a tick with it"},
	{CodeDrained, "", "this replica drained before it could claim the tick"},
	{CodeDrained, VariantRun, "the replica drained"},
	{CodeDrained, VariantHandedOver, "the replica drained, and handed the tick over"},
	{CodeBehind, "", "an earlier tick of the job was still being decided on this replica"},
	{CodeTooLate, "", "the claim was won too late to begin the work, and given back"},
	{CodeAsleep, "", "this replica was asleep, stopped or too busy until the tick's window had closed"},
	{CodeNoReplica, "", "no replica was known to serve the job"},
	{CodeStarting, "", "starting: this replica did not know yet what is paused"},
	{CodeRemoved, "", "removed: the job was taken out of this replica's configuration"},
	{CodeRescheduled, "", "rescheduled: the job's schedule changed before the tick began"},
	{CodeExpired, "", "expired: no replica could begin it in time"},
	{CodeCancelled, "", "run was cancelled[ by {by}][: {text}]"},
	{CodeCancelled, VariantWaiting, "cancelled while it waited for a slot of group {of}"},
	{CodeUnknown, "", "unknown: no replica has recorded what became of it"},
	{CodeHistoryLost, "", "unknown: history may have been lost"},
	{CodeHistoryTrimmed, "", "unknown: history was trimmed"},
	{CodeUnreadable, "", "unreadable: the record of it cannot be read: {text}"},
	{CodeFunction, "", "{text}"},
	{CodeReplaced, "", "run was cancelled: replaced by tick {tick}"},
	{CodeMaxHold, "", "max_hold: the run took longer than lock.max_hold lets a lease be kept"},
	{CodeEvicted, "", "released by an operator: {text}"},
	{CodeLost, "", "the lease could not be kept[: {text}]"},
	{CodeLost, VariantSlot, "the lease of slot {of} could not be kept"},
	{CodeTimeout, "", "the run took longer than its timeout"},
	{CodeTimeout, VariantTry, "the last try took longer than retry.attempt_timeout"},
	{CodeInterrupted, "", "the lease ended before the run reported an outcome"},
	{CodeInterrupted, VariantDoubtful, "the lease ended before the run reported an outcome; " +
		"it may not have started: only {n} of the {most} nodes that answered know of it"},
	{CodeNoRetry, "", "no further try: the pause before it would have outlasted the timeout"},
	{CodeNoRetry, VariantDrain, "no further try: the replica drains"},
	{CodeStaleWrites, "", "{writes} refused (token {token}, {of} has seen {seen})"},
	{CodeNotTriggered, "", "{of} was not triggered: {text}"},
	{CodeLateEnd, "", "it ended after its lease was lost; others may have worked meanwhile"},
	{CodeAlike, "", "so it is with all ticks since {since} that have no entry"},
	{CodeOther, "", "{text}"},
	{CodeOther, VariantClaim, "claim failed: {text}"},
}

// String returns the reason in words, "" if there is none.
func (r Reason) String() string {
	if r.IsZero() {
		return ""
	}
	var d Details
	if r.Details != nil {
		d = *r.Details
	}
	text := r.sentence()
	words := d.fill(text)
	if d.With != nil && !strings.Contains(text, "{with}") {
		words += "; " + d.With.String()
	}
	return words
}

// sentence returns the sentence of the reason's code and variant, or of the code alone. For
// a code of another release it is the code.
func (r Reason) sentence() string {
	i := slices.IndexFunc(sentences[:], func(s sentence) bool { return s.code == r.Code && s.variant == r.Variant })
	if i < 0 {
		i = slices.IndexFunc(sentences[:], func(s sentence) bool { return s.code == r.Code })
	}
	if i < 0 {
		return string(r.Code) + "[: {text}]"
	}
	return sentences[i].text
}

// fill puts the details into a sentence.
func (d *Details) fill(text string) string {
	var b strings.Builder
	for more := true; more; {
		var before, part string
		before, text, more = strings.Cut(text, "[")
		words, _ := d.replace(before)
		b.WriteString(words)
		part, text, _ = strings.Cut(text, "]")
		if words, whole := d.replace(part); whole {
			b.WriteString(words)
		}
	}
	return b.String()
}

// replace puts the details into a part of a sentence, and reports whether all of them
// exist.
func (d *Details) replace(part string) (words string, whole bool) {
	var b strings.Builder
	whole = true
	for more := true; more; {
		var before, name string
		before, part, more = strings.Cut(part, "{")
		b.WriteString(before)
		if name, part, _ = strings.Cut(part, "}"); name != "" {
			value := d.value(name)
			b.WriteString(value)
			whole = whole && value != ""
		}
	}
	return b.String(), whole
}

// value is the detail of a name, as words.
func (d *Details) value(name string) string {
	switch name {
	case "holder":
		return d.Holder
	case "tick":
		return moment(d.Tick)
	case "since":
		return moment(d.Since)
	case "until":
		return moment(d.Until)
	case "by":
		return d.By
	case "of":
		return d.Of
	case "n":
		return strconv.Itoa(d.N)
	case "most":
		return strconv.Itoa(d.Most)
	case "writes":
		return staleWrites(d.N)
	case "token":
		return tokenText(d.Token)
	case "seen":
		return tokenText(d.Seen)
	case "with":
		if d.With != nil {
			return d.With.String()
		}
		return ""
	}
	return d.Text
}

func staleWrites(n int) string {
	if n == 1 {
		return "1 stale write"
	}
	return strconv.Itoa(n) + " stale writes"
}

func tokenText(t locking.Token) string { return strconv.FormatUint(uint64(t), 10) }

// moment formats an instant as the command line does, to the millisecond; nothing if it is
// missing.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Round(0).UTC().Format("2006-01-02T15:04:05.999Z")
}
