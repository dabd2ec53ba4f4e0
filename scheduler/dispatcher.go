package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/internal/recorder"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A dispatcher decides which waiting ticks can be claimed, and starts their attempts.
type dispatcher struct {
	cfg  Config
	now  func() time.Time
	live func() []roster.Replica // the replicas believed to be alive
	jobs *jobTable
	rec  *recorder.Recorder

	// Of attempts.
	deps     *attempt.Deps
	contexts attempt.Contexts
	working  *sync.WaitGroup
	inbox    *inbox

	pauses    commands.Open // those in force, or ended within the last day
	slotQueue slotQueue
	active    int   // attempts that have not reported over
	wins      int64 // claims since the start
	draining  bool
}

// offer puts a due tick into its queue. Offering it again is harmless: the nodes know it.
func (d *dispatcher) offer(j *jobState, t job.Tick) {
	q := j.queueOf(t.Stream)
	if t.Trigger == ledger.BySchedule {
		q.overtake(t)
	}
	d.replace(j, t)
	if len(q.ticks) == 0 && j.open(q) { // the usual case
		if now := d.now(); !d.rejects(j, q, t, now, 0, 0) {
			d.start(j, q, t, now)
		}
		return
	}
	q.insert(t)
	d.proceed(j, q)
}

// proceed prunes the queue and starts its next tick, unless one is being decided.
func (d *dispatcher) proceed(j *jobState, q *tickQueue) {
	if len(q.ticks) == 0 {
		return
	}
	d.prune(j, q)
	if len(q.ticks) > 0 && j.open(q) {
		t := q.ticks[0]
		if q.ticks = q.ticks[1:]; len(q.ticks) == 0 {
			q.ticks = nil // most of many jobs have no queue
		}
		d.start(j, q, t, d.now())
	}
}

// prune removes ticks from the queue that may no longer be claimed.
func (d *dispatcher) prune(j *jobState, q *tickQueue) {
	now, late := d.now(), 0
	for i, t := range slices.Backward(q.ticks) { // deletions are behind i
		if d.rejects(j, q, t, now, len(q.ticks)-1-i, late) {
			q.ticks = slices.Delete(q.ticks, i, i+1)
		} else if t.Late(now) {
			late++
		}
	}
	if a := q.claiming; a != nil && !a.watches && a.Tick.Trigger != ledger.ByRerun && a.Tick.Late(now) &&
		a.Job.CatchesUp() && late >= a.Job.CatchUp.Max {
		a.StopWaiting(attempt.ErrTooMany)
	}
}

// rejects reports whether a tick may no longer be claimed, and decides it. newer ticks wait
// behind it, and late of them are to be caught up.
func (d *dispatcher) rejects(j *jobState, q *tickQueue, t job.Tick, now time.Time, newer, late int) bool {
	if t.Command != nil && (d.draining || t.Late(now)) || d.skipPaused(j, t) {
		return true // other replicas may run a request, or it expires
	}
	v := d.tooLate(j, q, t, now, newer, late)
	if v.Kind == job.Settled {
		q.gaveUp(j)
		d.rec.Decided(j.Job, t, v)
	}
	return v.Kind == job.Settled
}

// tooLate is the verdict on a waiting tick, settled if it may no longer be claimed. newer
// ticks wait behind it, and late of them are to be caught up.
func (d *dispatcher) tooLate(j *jobState, q *tickQueue, t job.Tick, now time.Time, newer, late int) job.Verdict {
	switch {
	case d.draining:
		return job.MissedFor(ledger.CodeDrained)
	case !t.Late(now):
		return job.Verdict{Kind: job.Again}
	case q.claiming != nil && q.claiming.watches && !q.claiming.catchesUp && t.Trigger != ledger.ByCatchUp:
		return q.behindRun(j, newer, q.claiming.heldElsewhere(now))
	}
	if v, is := j.keptOut(q, t); is {
		return q.behindRun(j, newer, v)
	}
	if why := j.WhyNotCaughtUp(t, now, newer, late); !why.IsZero() {
		return job.Because(ledger.Missed, why)
	}
	return job.Verdict{Kind: job.Again}
}

// start begins the attempt for the next tick of the queue, in its own goroutine.
func (d *dispatcher) start(j *jobState, q *tickQueue, t job.Tick, now time.Time) {
	var rank, eligible int
	var lead time.Duration
	if live := d.live(); len(live) > 0 {
		rank, eligible, lead = presence.RankAmong(j.StoredAs(), t.At, d.cfg.Replica, j.Labels, live)
	}
	if d.cfg.MaxRunning > 0 {
		rank += d.jobs.above(j.Job, everyGroup) // otherwise the first tick would take the permits
	}
	b := attempt.NewAssignment(j.Job.Backfilling(t), t, rank, eligible, d.contexts)
	own := &ticket{Assignment: b, owner: j, queue: q, watches: t.Trigger == ledger.ByRerun}
	how := attempt.Start{Until: t.Until}
	how.Delay, how.HeadStart = d.delays(rank, t.Until.Sub(now))
	if (t.Late(now) || t.Trigger == ledger.ByCatchUp) && t.Latest.After(now) {
		how.CaughtUp, own.catchesUp, how.Until = true, t.Trigger != ledger.ByRerun, t.Latest
		how.Delay, how.HeadStart = d.delays(rank, t.Latest.Sub(now))
		how.Delay += j.CatchUpPause(t)
	}
	how.Delay = max(how.Delay, min(lead, how.Until.Sub(now)/2))
	how.Earlier = q.earlierTicks(j.Job, t)
	how.First = rank == 0 && !how.CaughtUp && (eligible > 0 || d.cfg.Roster == nil)
	how.Free = how.Delay <= 0 && !how.CaughtUp && j.inTheWay(b, false) == nil
	q.claiming = own
	d.active++
	d.working.Go(attempt.New(d.deps, b, reporter{own, d.inbox}, how).Run)
}

// lookTogether is the rank from which on replicas look at the same time.
const lookTogether = 5

// delays is how long a replica with this rank waits before it looks, and then before it
// claims.
func (d *dispatcher) delays(rank int, room time.Duration) (look, claim time.Duration) {
	claim = attempt.Stagger(d.cfg.Stagger, rank, room)
	if _, can := d.cfg.Locker.(locking.Watcher); !can {
		return claim, 0
	}
	look = attempt.Stagger(d.cfg.Stagger, min(rank, lookTogether), room)
	return look, claim - look
}

// won moves an attempt from its queue to the runs, so the queue can proceed.
func (d *dispatcher) won(t *ticket) {
	d.wins++
	d.slotQueue.leave(t)
	t.queue.claiming = nil
	t.owner.running = append(t.owner.running, t)
	for _, q := range t.owner.queues {
		if q.claiming != nil {
			q.claiming.NoteRun()
		}
	}
	d.replaceBegun(t)
	d.decidedTick(t)
}

// over removes an attempt that has ended.
func (d *dispatcher) over(t *ticket, end attempt.End) {
	d.active--
	d.slotQueue.leave(t)
	t.Close()
	if t.queue.claiming == t {
		t.queue.claiming = nil
	}
	if j := t.owner; slices.Contains(j.running, t) {
		q := j.queueOf("")
		d.prune(j, q) // decides the ticks that the run blocked
		q.blocked = nil
		j.running = slices.DeleteFunc(j.running, func(r *ticket) bool { return r == t })
	}
	d.noteEarlier(t, end)
	d.decidedTick(t)
}

// decidedTick lets the job's queues proceed after a tick, that of the schedule first.
func (d *dispatcher) decidedTick(t *ticket) {
	j := t.owner
	if t.watches && !t.catchesUp && j.Traits().Patient {
		// Their policy let the ticks behind it wait for a run on another replica.
		until, queue := d.now().Add(d.cfg.Window), t.queue.ticks
		for i := range queue {
			if queue[i].Trigger != ledger.ByCatchUp && queue[i].Until.Before(until) {
				queue[i].Until = until
			}
		}
	}
	d.proceed(j, j.queueOf(""))
	if len(j.queues) == 1 {
		return
	}
	for _, q := range slices.Clone(j.queues) {
		d.proceed(j, q)
	}
}

// An earlier run of its job, on this replica or another, blocks a tick while its lease
// lasts. Each policy waits for its end:
//
//	skip             within the tick's window
//	queue            until the next tick of the stream comes
//	cancel_previous  until then, and asks the run to stop
//
// and then skips the tick. The window of a tick that may wait longer stays open while a run
// blocks it, and for Config.Window afterwards.

// replace cancels the runs of earlier ticks on this replica if t replaces them. Every live
// replica does so at the same time, also the one with the run. Catching up replaces
// nothing, nor does a tick of a paused job.
func (d *dispatcher) replace(j *jobState, t job.Tick) {
	if !j.Traits().Replaces || t.Trigger != ledger.BySchedule && t.Trigger != ledger.ByManual ||
		t.Command == nil && !j.PausedFor(d.pauses, t.Nominal).IsZero() {
		return
	}
	for _, run := range j.running {
		if run.Tick.At.Before(t.At) {
			run.Cancel(&attempt.StopError{Reason: ledger.Reason{Code: ledger.CodeReplaced, Details: &ledger.Details{Tick: t.At}}})
		}
	}
}

// replaceBegun cancels a run that begins if the tick that replaces it came meanwhile: the
// claim took long, or waited for the run of a dead replica. Catching up goes before the
// ticks that came meanwhile.
func (d *dispatcher) replaceBegun(begun *ticket) {
	if begun.run.Trigger == ledger.ByCatchUp {
		return
	}
	for _, q := range begun.owner.queues {
		for _, t := range q.ticks {
			d.replace(begun.owner, t)
		}
		if q.claiming != nil {
			d.replace(begun.owner, q.claiming.Tick)
		}
	}
}

// With the overlap policy allow a tick does not wait for earlier runs: each open tick has
// its own lock. Ticks are still claimed in order, one at a time, with tokens that grow, so
// a guard refuses the older of two runs once the newer has written. Runs that catch up
// overlap others, but not each other on one replica: so an outage is not followed by a
// flood.

// inTheWay is the run on this replica that blocks the attempt, nil if none does: one run at
// a time, unless they may overlap.
func (j *jobState) inTheWay(b *attempt.Assignment, catchesUp bool) *attempt.Run {
	for _, t := range j.running {
		if !b.MayOverlap() || catchesUp && t.run.CaughtUp {
			return t.run
		}
	}
	return nil
}
