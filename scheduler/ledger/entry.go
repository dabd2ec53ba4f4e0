// Package ledger has the outcome of every tick: an [Entry] with its [Outcome], and the
// [Reason] why it did not run or ended early. A [Store] keeps the entries; an [Archive]
// keeps the logs of runs.
//
// Runs enter the ledger with the claim and its release, which carry the entry as a note
// ([EncodeNote]), so a Store reads what a Locker wrote. Every replica that notices a tick
// without a run records it. The record with the highest rank stays ([Entry.Rank]), and the
// record of a run outranks them all.
package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/locking"
)

// An Outcome is how a tick or a run ended.
type Outcome string

// Outcomes of runs, the two of ticks that did not run, and that of a record that cannot be read.
const (
	Running     Outcome = "running"
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	TimedOut    Outcome = "timed_out"
	LeaseLost   Outcome = "lease_lost"
	Interrupted Outcome = "interrupted" // its replica died, or drained and handed it over
	Cancelled   Outcome = "cancelled"

	Skipped Outcome = "skipped" // decided not to run it, for Reason
	Missed  Outcome = "missed"  // could not be run, for Reason

	Unreadable Outcome = "unreadable" // its record cannot be read, for Reason
)

// Outcomes lists all outcomes.
func Outcomes() []Outcome {
	return []Outcome{Running, Succeeded, Failed, TimedOut, LeaseLost, Interrupted, Cancelled, Skipped, Missed, Unreadable}
}

// Failure reports whether a run with the outcome recorded that it did not succeed. One that is
// Interrupted recorded nothing, or another replica runs it again.
func (o Outcome) Failure() bool { return o == Failed || o == TimedOut || o == LeaseLost }

// A Trigger is why a run began.
type Trigger string

// The triggers.
const (
	BySchedule Trigger = "schedule" // the tick came due
	ByCatchUp  Trigger = "catch_up" // it came due while no replica could run it
	ByRerun    Trigger = "rerun"    // its first replica died
	ByManual   Trigger = "manual"   // a person requested it
	ByBackfill Trigger = "backfill" // a person requested ticks of the past
	ByChain    Trigger = "chain"    // another job's run has ended
)

// Triggers lists all triggers.
func Triggers() []Trigger {
	return []Trigger{BySchedule, ByCatchUp, ByRerun, ByManual, ByBackfill, ByChain}
}

// An Entry is the ledger's record of one tick, or of one run of it.
type Entry struct {
	// Job is its key (Job.Key); observers get its name.
	Job  string
	Tick time.Time // nominal
	// Stream is the stream of claims that the tick belongs to, and Order its place there:
	// the time of the request. Both are zero in the schedule, where a tick is claimed as
	// itself.
	Stream string
	Order  time.Time
	// Token is the claim's; zero if there was none.
	Token locking.Token
	// Attempt counts, in what a Store lists, the runs of the tick that began, from 1.
	// Observers get that of the claim, which also counts claims without a call of the
	// function. Zero if there was none.
	Attempt int
	// Calls counts the calls of the function within the claim. For a run that was handed
	// over, Spent counts the calls that failed by themselves, also in earlier attempts:
	// they are not repeated.
	Calls, Spent int
	Trigger      Trigger
	// Parent is the id of the run that triggered this one, for ByChain.
	Parent  string
	Replica string
	Outcome Outcome
	// Reason says why a tick did not run, or why a run ended early.
	Reason Reason
	// Started and Finished are zero until then.
	Started  time.Time
	Finished time.Time
	Error    string
	// StaleWrites counts the run's writes that a guard refused because the sink had seen a
	// larger token. Reason has it, too.
	StaleWrites int
	Lease
	// Hash is the version of the job (Job.Hash) on the replica.
	Hash string
	// Computed: no replica recorded it; a listing has found that it is missing.
	Computed bool
}

// A Lease is what the nodes said to a run, and what became of earlier leases of its tick.
type Lease struct {
	// Votes are those of the claim, and Poll is each node's answer to it; zero if there
	// was no claim, or if they are unknown.
	Votes locking.Votes
	Poll  locking.Poll
	// Beats are the extensions; nil if there were none.
	Beats *Beats
	// Interruptions counts the earlier attempts of the tick whose replica lost the lease
	// without handing the tick over. InterruptedOn is the replica of the last of them.
	// Only lists of ticks have them.
	Interruptions int
	InterruptedOn string
}

// ID identifies a run: the same for every call and attempt of a tick, and of no other tick
// in any stream. So a half-done run can be found again.
func (e Entry) ID() string {
	id := e.Job + "@" + e.OrderKey().UTC().Format("20060102T150405.000Z")
	if e.Stream != "" {
		id += "." + e.Stream
	}
	return id
}

// Named returns e with the name of the job, for observers. The nodes may know another name.
func (e Entry) Named(job string) Entry {
	e.Job = job
	return e
}

// OrderKey is the tick's place in its stream, and in listings.
func (e Entry) OrderKey() time.Time {
	if e.Order.IsZero() {
		return e.Tick
	}
	return e.Order
}

// Placed returns e, decoded from a note, as the entry of a job's tick with an order key of
// a stream.
func (e Entry) Placed(job, stream string, key time.Time) Entry {
	e.Job = job
	if stream != locking.StreamSchedule {
		e.Stream = stream
	}
	if e.Tick.IsZero() {
		e.Tick = key
	} else {
		e.Order = key
	}
	return e
}

// Ran reports whether the entry is that of a run. The function of a run may decide to skip, too.
func (e Entry) Ran() bool {
	return e.Outcome != Missed && (e.Outcome != Skipped && e.Outcome != Unreadable || e.Token != 0)
}

// Plain reports whether an entry of a tick has come to its end without any trouble: it is
// Succeeded, Skipped or Cancelled at the first attempt, and no guard refused a write.
func (e Entry) Plain() bool {
	return (e.Outcome == Succeeded || e.Outcome == Skipped || e.Outcome == Cancelled) && e.StaleWrites == 0 && e.Interruptions == 0
}

// HandedOver reports whether e is a run that a drain has ended and another replica runs
// again: an Interrupted one with a known end.
func (e Entry) HandedOver() bool { return e.Outcome == Interrupted && !e.Finished.IsZero() }

// Beats are the extensions of a run's lease: their number, the last ones and the worst.
type Beats struct {
	Count, Failed int
	// Least is the one that began with the least remaining validity.
	Least Beat
	// Lapse is the last that failed, and Why says why; zero if none has.
	Lapse Beat
	Why   string
	Last  []Beat // oldest first
}

// A Beat is one try to extend a lease.
type Beat struct {
	At time.Time // when it began
	// Left is how much longer the lease would have lasted, and Took the duration of the
	// try.
	Left, Took time.Duration
	Failed     bool
	// Answers are the nodes' answers, in the order of Entry.Poll; zero if unknown.
	Answers [locking.MostNodes]locking.Answer
}

// Rank orders the replicas' records of one tick without a run: the highest stays. A
// policy's decision goes before a failure to run, and a drained replica knows least about
// the others. With equal ranks the greater note in bytes stays, so all nodes agree.
func (e Entry) Rank() byte {
	switch {
	case e.Ran():
		return 'r'
	case e.Outcome == Skipped && (e.Reason.Code == CodeRemoved || e.Reason.Code == CodeRescheduled):
		return 'm' // in this replica's configuration
	case e.Outcome == Skipped:
		return 'p'
	}
	switch e.Reason.Code {
	case CodeCatchUp:
		if e.Reason.Has(CodeUnknown) || e.Reason.Has(CodeHistoryLost) || e.Reason.Has(CodeHistoryTrimmed) {
			return 'j' // another replica may know the reason
		}
		return 'k'
	case CodeUnknown, CodeHistoryLost, CodeHistoryTrimmed:
		return 'c'
	case CodeDrained:
		return 'a'
	}
	return 'g'
}

// MaxLog bounds the stored log of one run, in bytes.
const MaxLog = 16 << 10

// A Log is the log of one run.
type Log struct {
	Job string // as in its Entry
	// Tick, the order key (Entry.OrderKey), and Token identify the run.
	Tick  time.Time
	Token locking.Token
	// Text is the end of the log, in lines as slog.TextHandler writes them; Cut is the
	// number of bytes before it.
	Text string
	Cut  int
	// At is when the log was taken, and Run the run at that time; both are zero once the
	// run has ended.
	At  time.Time
	Run Entry
}

// logNote is the stored form of a Log. Job, tick and token are its storage key.
type logNote struct {
	V    int    `json:"v"`
	Cut  int    `json:"cut,omitempty"`
	Text string `json:"text"`
	// For a run in progress: when this was stored, in Unix milliseconds, and the run's note.
	At  int64           `json:"at,omitempty"`
	Run json.RawMessage `json:"run,omitempty"`
}

// logVersion is the version of the stored form of a Log. Readers refuse newer ones.
const logVersion = 1

// EncodeLog returns the stored form of l without job, tick and token.
func EncodeLog(l Log) []byte {
	n := logNote{V: logVersion, Cut: l.Cut, Text: l.Text}
	if !l.At.IsZero() {
		n.At, n.Run = l.At.UnixMilli(), EncodeNote(l.Run)
	}
	b, _ := plainjson.Marshal(n) // numbers and strings always encode
	return b
}

// DecodeLog is the inverse of EncodeLog.
func DecodeLog(b []byte) (Log, error) {
	var n logNote
	if err := json.Unmarshal(b, &n); err != nil {
		return Log{}, fmt.Errorf("decoding a log: %w", err)
	}
	if n.V > logVersion {
		return Log{}, fmt.Errorf("the log has version %d, this release reads up to %d: upgrade quorate", n.V, logVersion)
	}
	run, err := DecodeNote(n.Run)
	return Log{Text: n.Text, Cut: n.Cut, At: fromMillis(n.At), Run: run}, err
}

// Newer reports whether l was taken after other, of the same run.
func (l Log) Newer(other Log) bool {
	return !other.At.IsZero() && (l.At.IsZero() || l.At.After(other.At))
}

// Sort sorts the entries of a job for listings: the newest order key first; within a tick
// runs first, the last one before earlier ones, then records, a skip before a miss.
func Sort(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(
			b.OrderKey().Compare(a.OrderKey()),
			cmp.Compare(a.Stream, b.Stream),
			cmp.Compare(b.Token, a.Token), // zero without a run
			cmp.Compare(a.Outcome.weight(), b.Outcome.weight()),
		)
	})
}

// CountAttempts numbers the runs of each tick. It leaves them in the order of their tokens.
func CountAttempts(entries []Entry) {
	type tick struct {
		stream string
		key    int64
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Token, b.Token) })
	began := map[tick]int{}
	for i := range entries {
		if e := &entries[i]; e.Token != 0 {
			of := tick{e.Stream, e.OrderKey().UnixMilli()}
			began[of]++
			e.Attempt = began[of]
		}
	}
}

// OnePerTick keeps the first entry of each tick of a sorted list, with the interruptions
// and the stale writes of all its attempts: stale writes of an attempt come during the next.
func OnePerTick(sorted []Entry) []Entry {
	kept := sorted[:0]
	for _, e := range sorted {
		if last := len(kept) - 1; last >= 0 && sameTick(kept[last], e) {
			kept[last].StaleWrites += e.StaleWrites
			if e.Outcome == LeaseLost || e.Outcome == Interrupted && !e.HandedOver() {
				if kept[last].Interruptions++; kept[last].Interruptions == 1 {
					kept[last].InterruptedOn = e.Replica
				}
			}
			continue
		}
		kept = append(kept, e)
	}
	clear(sorted[len(kept):])
	return kept
}

func sameTick(a, b Entry) bool {
	return a.Stream == b.Stream && a.OrderKey().Equal(b.OrderKey())
}

// weight orders the outcomes of one tick, the most certain first.
func (o Outcome) weight() int {
	switch o {
	case Missed:
		return 2
	case Skipped:
		return 1
	default:
		return 0
	}
}
