package scheduler

import (
	"slices"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A tickQueue decides the ticks of one stream of a job, one after the other.
type tickQueue struct {
	stream   string
	claiming *ticket    // decides a tick; nil: none
	ticks    []job.Tick // the ticks after it, in order
	scans    int        // scans for earlier ticks; none is claimed until they are over
	blocked  *blockade  // nil: no known run blocks the queue

	// For jobs whose ticks are rerun. See earlierTicks.
	unsure      bool      // a tick was given up that another replica may run
	watchedUpTo time.Time // the last tick that was watched
}

// queueOf returns the job's queue of a stream.
func (j *jobState) queueOf(stream string) *tickQueue {
	for _, q := range j.queues {
		if q.stream == stream {
			return q
		}
	}
	q := &tickQueue{stream: stream}
	j.queues = append(j.queues, q)
	return q
}

// open reports whether the next tick of the queue may be claimed. A backfill waits for the
// schedule's queue: it would block scheduled ticks.
func (j *jobState) open(q *tickQueue) bool {
	return q.claiming == nil && q.scans == 0 && (q.stream != commands.StreamBackfill || j.queueOf("").claiming == nil)
}

// insert puts a tick into the queue, in the order of the stream.
func (q *tickQueue) insert(t job.Tick) {
	i := len(q.ticks)
	for i > 0 && t.At.Before(q.ticks[i-1].At) {
		i--
	}
	q.ticks = slices.Insert(q.ticks, i, t)
}

// overtake tells the attempt for an earlier tick that t has come.
func (q *tickQueue) overtake(t job.Tick) {
	if a := q.claiming; a != nil && !a.passed && a.Tick.At.Before(t.At) {
		a.passed = true
		a.Overtake()
	}
}

// A slotQueue has the attempts that have claimed a tick and wait for a slot.
type slotQueue []*ticket

// join puts an attempt into the queue, and reports whether another one of its group goes
// first.
func (q *slotQueue) join(t *ticket) (behind bool) {
	if !slices.Contains(*q, t) {
		*q = append(*q, t)
	}
	return slices.ContainsFunc(*q, func(other *ticket) bool {
		return other.Job.Group == t.Job.Group && attempt.Order(other.Assignment, t.Assignment) < 0
	})
}

// leave removes an attempt that has a slot, or needs none any more.
func (q *slotQueue) leave(t *ticket) {
	*q = slices.DeleteFunc(*q, func(other *ticket) bool { return other == t })
}

// While ticks are caught up, new ticks wait behind them in their queue. A new tick whose
// window closes during an earlier run of its job is skipped, as at any other time.
// Otherwise a job whose runs take longer than its period would never be on time again.

// keptOut reports whether an earlier run of the job has blocked a scheduled tick from the
// end of its window until now. The verdict names the run.
func (j *jobState) keptOut(q *tickQueue, t job.Tick) (job.Verdict, bool) {
	if t.Trigger != ledger.BySchedule || !j.CatchesUp() || j.Traits().Beside {
		return job.Verdict{}, false
	}
	for _, of := range j.running {
		if !of.run.Started.After(t.Until) {
			return attempt.StillRunning(of.run), true
		}
	}
	if b := q.blocked; b != nil && !b.since.After(t.Until) && !b.last.Before(t.Until) {
		return job.HeldElsewhere(b.Holder, b.Tick, b.Until), true
	}
	return job.Verdict{}, false
}

// A blockade is the run on another replica that attempts of a queue have found in their way,
// as long as they find nothing else.
type blockade struct {
	attempt.Blocker
	since, last time.Time // when it was found first and last
}

// block stores what blocks an attempt of the queue.
func (q *tickQueue) block(by *attempt.Blocker, now time.Time) {
	if by == nil {
		q.blocked = nil
		return
	}
	since := now
	if q.blocked != nil {
		since = q.blocked.since
	}
	q.blocked = &blockade{Blocker: *by, since: since, last: now}
}

// behindRun is the verdict on a late tick that waits behind an earlier run: none yet if its
// policy lets it wait, or skipped.
func (q *tickQueue) behindRun(j *jobState, newer int, skipped job.Verdict) job.Verdict {
	switch policy := j.Traits(); {
	case policy.Patient && newer == 0:
		return job.Verdict{Kind: job.Again}
	case policy.Queues:
		return job.Queued()
	default:
		return skipped
	}
}

// heldElsewhere is the verdict on a tick behind one that another replica runs, or ran when
// the store last said so. A lease that was seen earlier may be over by now.
func (t *ticket) heldElsewhere(now time.Time) job.Verdict {
	if t.holder == nil {
		return t.unheard
	}
	until := t.holder.Until
	if !until.After(now) {
		until = time.Time{}
	}
	return job.HeldElsewhere(t.holder.Holder, t.Tick.At, until)
}

// A replica that watches a tick of another replica claims no later tick. But it may have
// given a tick up before it learned that another had claimed it: it was starved, cut off
// from the nodes, or had a run of its own whose lease was over. If it claimed the next tick after
// that replica died, the first could never be rerun. So, if a job's ticks are rerun, it asks the
// ledger before it tries whether the last run was interrupted, or may be soon, as after a start. It
// also does so when an unwatched tick's lease blocks it. Then that tick comes first.

// earlierTicks returns them for an attempt that begins. The attempt then checks what the
// queue is unsure of.
func (q *tickQueue) earlierTicks(j *job.Job, t job.Tick) *attempt.EarlierTicks {
	if j.OnCrash != jobs.CrashRerun || t.Stream != "" {
		return nil
	}
	h := &attempt.EarlierTicks{Unsure: q.unsure && t.Trigger != ledger.ByRerun, WatchedUpTo: q.watchedUpTo}
	q.unsure = false
	return h
}

// learned returns them for an attempt that has begun, if the queue has become unsure since.
func (q *tickQueue) learned(t *ticket) *attempt.EarlierTicks {
	if !q.unsure || q.claiming != t || t.Tick.Trigger == ledger.ByRerun {
		return nil
	}
	return q.earlierTicks(t.Job, t.Tick)
}

// gaveUp notes that a tick was decided that another replica may run, also behind a run of this
// replica: its lease may end before its function.
func (q *tickQueue) gaveUp(j *jobState) {
	if q.stream == "" && j.OnCrash == jobs.CrashRerun {
		q.unsure = true
	}
}

// noteEarlier stores what an attempt has learned about ticks up to its own, and queues the
// one that comes first.
func (d *dispatcher) noteEarlier(t *ticket, end attempt.End) {
	q, own := t.queue, t.Tick
	if end.GaveUp {
		q.gaveUp(t.owner)
	}
	if end.Unknown {
		// It is not known whether the transaction of the run was committed: it may have to run again.
		if q.stream == "" && t.owner.OnCrash == jobs.CrashRerun {
			q.unsure = true
			if !own.At.After(q.watchedUpTo) {
				q.watchedUpTo = own.At.Add(-1)
			}
		}
	} else if t.watches && own.At.After(q.watchedUpTo) && t.PauseVerdict().Kind != job.Settled {
		q.watchedUpTo = own.At
	}
	switch {
	case end.Before.IsZero():
		return
	case !d.jobs.serves(t.owner):
		d.rec.Decided(t.Job, own, job.SkippedFor(ledger.CodeRemoved))
		return
	}
	own.Until = served.Later(own.Until, end.Until)
	q.insert(own)
	q.insert(end.Before)
}
