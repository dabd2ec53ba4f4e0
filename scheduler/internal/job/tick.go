package job

import (
	"slices"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Tick is an instant in a stream of a job that one replica may run. A stream is the
// schedule, or one kind of requests. The zero tick is none.
type Tick struct {
	Stream  string    // empty: the schedule
	At      time.Time // its place in the stream; for the schedule its nominal time
	Nominal time.Time // what the run is told
	Start   time.Time // it may be claimed from here
	Until   time.Time // the end of its window
	Latest  time.Time // the end of its catch-up; zero: none
	Trigger ledger.Trigger
	Why     *ledger.Reason    // why it did not run in its window; nil: unknown
	Command *commands.Command // the request for it; nil: the schedule

	Next time.Time // the nominal time of the next tick of the schedule; zero: none
}

// Entry begins the ledger's entry of the tick.
func (t Tick) Entry(j *Job, replica string) ledger.Entry {
	e := ledger.Entry{
		Job: j.StoredAs(), Tick: t.Nominal, Stream: t.Stream, Trigger: t.Trigger, Parent: t.Parent(), Replica: replica,
		Hash: j.Hash,
	}
	if t.Stream != "" {
		e.Order = t.At
	}
	return e
}

// Parent is the id of the run that triggered the tick, if any.
func (t Tick) Parent() string {
	if t.Command == nil {
		return ""
	}
	return t.Command.Parent
}

// Missed is the verdict on a tick that did not run in its window, with the code otherwise
// if the reason is unknown.
func (t Tick) Missed(otherwise ledger.Code) Verdict {
	if t.Why == nil {
		return MissedFor(otherwise)
	}
	return Because(ledger.Missed, *t.Why)
}

// IsZero reports whether there is no tick.
func (t Tick) IsZero() bool { return t.At.IsZero() }

// Late reports whether the tick's own window has closed.
func (t Tick) Late(now time.Time) bool { return !now.Before(t.Until) }

// Scheduled is the tick of the job's schedule at the given instant. Its window is from its
// start until the next tick starts, at most window long.
func (j *Job) Scheduled(at time.Time, window time.Duration) Tick {
	if at.IsZero() {
		return Tick{}
	}
	return j.TickBefore(j.Schedule.Next(at), at, window)
}

// TickBefore is the tick at the given instant, before the known next one.
func (j *Job) TickBefore(next, at time.Time, window time.Duration) Tick {
	t := Tick{At: at, Nominal: at, Trigger: ledger.BySchedule, Latest: j.latest(at), Next: next}
	t.Start = j.startOf(at, t.Next)
	t.Until = t.Start.Add(window)
	if end := j.startOfNext(t); !end.IsZero() && end.Before(t.Until) {
		t.Until = end
	}
	return t
}

// startOfNext is when the tick after t starts, zero if there is none.
func (j *Job) startOfNext(t Tick) time.Time {
	if t.Next.IsZero() || j.Jitter <= 0 {
		return t.Next
	}
	return j.startOf(t.Next, j.Schedule.Next(t.Next))
}

// startOf is a tick's nominal time, delayed by the job's jitter. A tick always starts
// before the next one comes.
func (j *Job) startOf(at, next time.Time) time.Time {
	limit := j.Jitter
	if !next.IsZero() {
		limit = min(limit, next.Sub(at))
	}
	return at.Add(Jitter(j.StoredAs(), at, limit))
}

// FirstAfter is the job's first tick that starts after now. With jitter its nominal time
// may be before now.
func (j *Job) FirstAfter(now time.Time, window time.Duration) Tick {
	t := j.Scheduled(j.Schedule.Next(now.Add(-max(j.Jitter, 0))), window)
	for !t.IsZero() && !t.Start.After(now) {
		t = j.Scheduled(t.Next, window)
	}
	return t
}

// Jitter returns the delay of a tick's start: at least 0 and less than limit, in whole
// milliseconds, the same on every replica. It differs by job and tick.
func Jitter(job string, tick time.Time, limit time.Duration) time.Duration {
	ms := uint64(max(limit.Milliseconds(), 0))
	if ms == 0 {
		return 0
	}
	return time.Duration(Weight(job, tick, "jitter")%ms) * time.Millisecond
}

// Start returns when the given tick of the job starts: its nominal time plus jitter.
func (j *Job) Start(at time.Time) time.Time { return j.startOf(at, j.Schedule.Next(at)) }

// Coming returns the next n ticks of the job that start after from; with excluded, also
// those that calendars remove, which count. The nominal time of the first may be before
// from: jitter delays its start.
func (j *Job) Coming(from time.Time, n int, excluded bool) []schedule.Planned {
	coming := []schedule.Planned{}
	for p := range schedule.Coming(j.Schedule, from.Add(-max(j.Jitter, 0)), excluded) {
		if len(coming) == n {
			break
		}
		if p.Tick.After(from) || !p.Excluded && j.Start(p.Tick).After(from) {
			coming = append(coming, p)
		}
	}
	return coming
}

// Ticks that no replica could run are caught up in their order, one at a time, if the job
// wants it. A tick that could not be claimed within its window, for example without a
// quorum, stays the first of its queue, and is tried until CatchUp.Window after its nominal
// time. Later ticks wait: once a later tick is claimed, an earlier one never can be.

// longestCatchUpPause bounds the pause between ticks that are caught up.
const longestCatchUpPause = 2 * time.Second

// CatchesUp reports whether ticks of the job are caught up.
func (j *Job) CatchesUp() bool {
	return j.CatchUp.Mode == jobs.CatchUpLast || j.CatchUp.Mode == jobs.CatchUpAll
}

// latest is the end of a tick's catch-up; zero if the job has none.
func (j *Job) latest(at time.Time) time.Time {
	if !j.CatchesUp() {
		return time.Time{}
	}
	return at.Add(j.CatchUp.Window)
}

// NotCaughtUp is the verdict on a tick that the policy does not catch up; closing says why
// it was missed.
func (j *Job) NotCaughtUp(why ledger.Variant, closing Verdict) Verdict {
	d := ledger.Details{With: &closing.Reason}
	switch why {
	case ledger.VariantMax:
		d.Most = j.CatchUp.Max
	case ledger.VariantWindow:
		d.Text = j.CatchUp.Window.String()
	}
	return Because(ledger.Missed, ledger.Reason{Code: ledger.CodeCatchUp, Variant: why, Details: &d})
}

// WhyNotCaughtUp says why a late tick is not caught up; zero if it is. newer ticks wait
// behind it, and late of them are late, too.
func (j *Job) WhyNotCaughtUp(t Tick, now time.Time, newer, late int) ledger.Reason {
	closing := t.Missed(ledger.CodeBehind)
	switch {
	case t.Trigger == ledger.ByRerun && t.Latest.After(now):
		return ledger.Reason{}
	case t.Latest.IsZero() || !j.CatchesUp():
		return closing.Reason
	case !t.Latest.After(now):
		return j.NotCaughtUp(ledger.VariantWindow, closing).Reason
	case j.CatchUp.Mode == jobs.CatchUpLast && newer > 0:
		return j.NotCaughtUp(ledger.VariantLast, closing).Reason
	case late >= j.CatchUp.Max:
		return j.NotCaughtUp(ledger.VariantMax, closing).Reason
	default:
		return ledger.Reason{}
	}
}

// CatchUpPause is how long a tick that is caught up waits before its first try. It differs
// by job and tick, is the same on all replicas, and is short enough to overtake the job's
// schedule.
func (j *Job) CatchUpPause(t Tick) time.Duration {
	limit := longestCatchUpPause
	if !t.Next.IsZero() {
		limit = min(limit, t.Next.Sub(t.At)/4)
	}
	return Jitter(j.StoredAs()+" catch-up", t.At, limit)
}

// The ticks of a backfill are claimed one after the other. Where runs may overlap, all of
// them would run at once, so these runs share slots like those of a group (attempt/limits.go). A
// backfill yields to all other ticks: to scheduled ticks of the job (jobState.open in scheduler), and to
// attempts that wait for a slot of the same group.

// Backfilling returns the job for an attempt of t. A backfill of a job in a group uses the
// first slots only, so it keeps within both limits.
func (j *Job) Backfilling(t Tick) *Job {
	if t.Stream != commands.StreamBackfill || !j.Traits().Beside {
		return j
	}
	most := max(1, t.Command.Concurrency) // an older release may have written 0
	bounded := *j
	if j.Group == "" {
		bounded.Group, bounded.GroupSize = backfillGroup(j.StoredAs()), most
	}
	bounded.GroupSize = min(bounded.GroupSize, most)
	return &bounded
}

// backfillGroup is the group of a job's backfills if the job has none.
func backfillGroup(key string) string { return "backfill:" + key }

// BackfillSlots returns the names of the locks that backfills of the job may have used.
// They are deleted with the job.
func BackfillSlots(key string) []string {
	var names []string
	for n := range commands.MaxConcurrency {
		names = append(names, SlotName(backfillGroup(key), n))
	}
	return names
}

// Rank returns the position of self, from 0, in the order in which the replicas try to claim a
// tick. Replicas that see the same replicas compute the same order. It differs by job and
// tick, so wins spread evenly. Self counts whether it is listed or not.
//
// The order is by highest random weight: when a replica comes or goes, the
// others keep their places relative to each other.
func Rank(job string, tick time.Time, self string, replicas []string) int {
	rank, own := 0, Weight(job, tick, self)
	for _, r := range slices.Compact(slices.Sorted(slices.Values(replicas))) {
		if Ahead(job, tick, r, self, own) {
			rank++
		}
	}
	return rank
}

// Ahead reports whether a replica goes before self, which has the given weight.
func Ahead(job string, tick time.Time, replica, self string, own uint64) bool {
	w := Weight(job, tick, replica)
	return w > own || w == own && replica > self
}

// Weight is a FNV-1a hash of job, tick and replica. It equals that of package hash/fnv,
// without allocations.
func Weight(job string, tick time.Time, replica string) uint64 {
	h := uint64(fnvOffset)
	for i := range len(job) {
		h = (h ^ uint64(job[i])) * fnvPrime
	}
	h *= fnvPrime // a zero byte between name and number
	for ms, shift := uint64(tick.UnixMilli()), 56; shift >= 0; shift -= 8 {
		h = (h ^ ms>>shift&0xff) * fnvPrime
	}
	for i := range len(replica) {
		h = (h ^ uint64(replica[i])) * fnvPrime
	}
	return Scramble(h)
}

const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// Scramble spreads every bit over all others: FNV hardly moves the high ones
// for names that differ at their end. The constants are those of MurmurHash3's
// 64-bit finaliser.
func Scramble(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// A Verdict is the consequence of a refused claim.
type Verdict struct {
	Kind    Kind
	Outcome ledger.Outcome // if kind is settled
	Reason  ledger.Reason
	Err     error // if kind is lost
}

// A Kind says what follows from a Verdict.
type Kind uint8

// The kinds of verdicts.
const (
	Again   Kind = iota // may still be won
	Lost                // another replica runs the tick and records it
	Settled             // will not run; outcome and reason say why
)

// MissedFor is the verdict on a tick that could not be run.
func MissedFor(code ledger.Code) Verdict { return Because(ledger.Missed, ledger.Reason{Code: code}) }

// SkippedFor is the verdict on a tick that is decided not to run.
func SkippedFor(code ledger.Code) Verdict { return Because(ledger.Skipped, ledger.Reason{Code: code}) }

// Because is the verdict on a tick that will not run.
func Because(o ledger.Outcome, reason ledger.Reason) Verdict {
	return Verdict{Kind: Settled, Outcome: o, Reason: reason}
}

// Queued is the verdict on a waiting tick when the next one begins to wait.
func Queued() Verdict {
	return Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantQueue})
}

// HeldElsewhere is the verdict on a tick that an earlier one blocked on another replica, as
// the nodes know it. Without a time, no node had the lock any more.
func HeldElsewhere(holder string, at, until time.Time) Verdict {
	if !at.IsZero() && until.IsZero() {
		return Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantUnended, Details: &ledger.Details{Holder: OrAnotherReplica(holder), Tick: at}})
	}
	return Overlapping(holder, at, until)
}

// Overlapping is the verdict on a tick that an earlier one blocked. It is the same for a
// live and a dead holder.
func Overlapping(holder string, at, until time.Time) Verdict {
	return Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Details: &ledger.Details{Holder: OrAnotherReplica(holder), Tick: at, Until: until}})
}

// OrAnotherReplica returns the holder, or words for one that is not known.
func OrAnotherReplica(holder string) string {
	if holder == "" {
		return "another replica"
	}
	return holder
}

// PausedFor says why the tick of a job with this nominal time is skipped; zero if it is not. It takes the first
// of: its configuration, a pause of the job, of all jobs, of one of its tags. The zero time asks whether
// the job is paused now.
func (j *Job) PausedFor(pauses commands.Open, tick time.Time) ledger.Reason {
	if j.Paused {
		return ledger.Reason{Code: ledger.CodePaused, Variant: ledger.VariantConfigured}
	}
	skipping := pauses.Skipping(tick)
	for _, covers := range []func(commands.Command) bool{
		func(a commands.Command) bool { return a.Job == j.StoredAs() },
		func(a commands.Command) bool { return a.All },
		func(a commands.Command) bool { return a.Tag != "" && slices.Contains(j.Tags, a.Tag) },
	} {
		if i := slices.IndexFunc(skipping, covers); i >= 0 {
			a := skipping[i]
			d := ledger.Details{By: a.By, Since: a.At, Until: a.Ends(), Text: a.Reason}
			if a.Job == "" {
				d.Of = a.Target()
			}
			return ledger.Reason{Code: ledger.CodePaused, Details: &d}
		}
	}
	return ledger.Reason{}
}
