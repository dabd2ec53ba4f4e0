package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/recorder"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A dispatcher decides which waiting ticks can be claimed, and starts their attempts.
type dispatcher struct {
	cfg  Config
	now  func() time.Time
	live func() []Replica // the replicas believed to be alive
	jobs *jobTable
	rec  *recorder.Recorder

	// Of attempts.
	deps     *attempt.Deps
	contexts attempt.Contexts
	working  *sync.WaitGroup
	inbox    *inbox

	pauses   []acts.Act // in force
	line     line
	active   int   // attempts that have not reported over
	wins     int64 // claims since the start
	draining bool
}

// offer puts a due tick into its lane. Offering it again is harmless: the nodes know it.
func (d *dispatcher) offer(j *jobState, t job.Tick) {
	l := j.lane(t.Stream)
	if t.Trigger == ledger.BySchedule {
		l.overtake(t)
	}
	d.replace(j, t)
	if len(l.queue) == 0 && j.open(l) { // the usual case
		if now := d.now(); !d.rejects(j, l, t, now, 0, 0) {
			d.start(j, l, t, now)
		}
		return
	}
	l.insert(t)
	d.proceed(j, l)
}

// proceed prunes the lane and starts its next tick, unless one is being decided.
func (d *dispatcher) proceed(j *jobState, l *lane) {
	if len(l.queue) == 0 {
		return
	}
	d.prune(j, l)
	if len(l.queue) > 0 && j.open(l) {
		t := l.queue[0]
		if l.queue = l.queue[1:]; len(l.queue) == 0 {
			l.queue = nil // most of many jobs have no queue
		}
		d.start(j, l, t, d.now())
	}
}

// prune removes ticks from the queue that may no longer be claimed.
func (d *dispatcher) prune(j *jobState, l *lane) {
	now, late := d.now(), 0
	for i, t := range slices.Backward(l.queue) { // deletions are behind i
		if d.rejects(j, l, t, now, len(l.queue)-1-i, late) {
			l.queue = slices.Delete(l.queue, i, i+1)
		} else if t.Late(now) {
			late++
		}
	}
	if a := l.claiming; a != nil && !a.watches && a.Tick.Trigger != ledger.ByRerun && a.Tick.Late(now) &&
		a.Job.CatchesUp() && late >= a.Job.CatchUp.Max {
		a.StopWaiting(attempt.ErrTooMany)
	}
}

// rejects reports whether a tick may no longer be claimed, and decides it. newer ticks wait
// behind it, and late of them are to be caught up.
func (d *dispatcher) rejects(j *jobState, l *lane, t job.Tick, now time.Time, newer, late int) bool {
	if t.Act != nil && (d.draining || t.Late(now)) || d.skipPaused(j, t) {
		return true // other replicas may run a request, or it expires
	}
	v := d.tooLate(j, l, t, now, newer, late)
	if v.Kind == job.Settled {
		l.gaveUp(j)
		d.rec.Decided(j.Job, t, v)
	}
	return v.Kind == job.Settled
}

// tooLate is the verdict on a waiting tick, settled if it may no longer be claimed. newer
// ticks wait behind it, and late of them are to be caught up.
func (d *dispatcher) tooLate(j *jobState, l *lane, t job.Tick, now time.Time, newer, late int) job.Verdict {
	switch {
	case d.draining:
		return job.MissedFor(ledger.CodeDrained)
	case !t.Late(now):
		return job.Verdict{Kind: job.Again}
	case l.claiming != nil && l.claiming.watches && !l.claiming.catchesUp && t.Trigger != ledger.ByCatchUp:
		return l.behindRun(j, newer, l.claiming.heldElsewhere(now))
	}
	if v, is := j.keptOut(l, t); is {
		return l.behindRun(j, newer, v)
	}
	if why := j.WhyNotCaughtUp(t, now, newer, late); !why.IsZero() {
		return job.Because(ledger.Missed, why)
	}
	return job.Verdict{Kind: job.Again}
}

// start begins the attempt for the next tick of the lane, in its own goroutine.
func (d *dispatcher) start(j *jobState, l *lane, t job.Tick, now time.Time) {
	var rank, crowd int
	var lead time.Duration
	if live := d.live(); len(live) > 0 {
		rank, crowd, lead = roster.Place(j.StoredAs(), t.At, d.cfg.Replica, j.Labels, live)
	}
	if d.cfg.MaxRunning > 0 {
		rank += d.jobs.above(j.Job, everyGroup) // otherwise the first tick would take the places
	}
	b := attempt.NewBrief(j.Job.Backfilling(t), t, rank, crowd, d.contexts)
	own := &ticket{Brief: b, owner: j, lane: l, watches: t.Trigger == ledger.ByRerun}
	how := attempt.Start{Until: t.Until}
	how.Delay, how.HeadStart = d.turn(rank, t.Until.Sub(now))
	if (t.Late(now) || t.Trigger == ledger.ByCatchUp) && t.Latest.After(now) {
		how.CaughtUp, own.catchesUp, how.Until = true, t.Trigger != ledger.ByRerun, t.Latest
		how.Delay, how.HeadStart = d.turn(rank, t.Latest.Sub(now))
		how.Delay += j.CatchUpPause(t)
	}
	how.Delay = max(how.Delay, min(lead, how.Until.Sub(now)/2))
	how.Earlier = l.earlierTicks(j.Job, t)
	how.First = rank == 0 && !how.CaughtUp && (crowd > 0 || d.cfg.Roster == nil)
	how.Free = how.Delay <= 0 && !how.CaughtUp && j.inTheWay(b, false) == nil
	l.claiming = own
	d.active++
	d.working.Go(attempt.New(d.deps, b, reporter{own, d.inbox}, how).Run)
}

// lookTogether is the rank from which on replicas look at the same time.
const lookTogether = 5

// turn is how long a replica with this rank waits before it looks, and then before it
// claims.
func (d *dispatcher) turn(rank int, room time.Duration) (look, claim time.Duration) {
	claim = attempt.Stagger(d.cfg.Stagger, rank, room)
	if _, can := d.cfg.Locker.(locking.Watcher); !can {
		return claim, 0
	}
	look = attempt.Stagger(d.cfg.Stagger, min(rank, lookTogether), room)
	return look, claim - look
}

// won moves an attempt from its lane to the runs, so the lane can proceed.
func (d *dispatcher) won(t *ticket) {
	d.wins++
	d.line.leave(t)
	t.lane.claiming = nil
	t.owner.running = append(t.owner.running, t)
	for _, l := range t.owner.lanes {
		if l.claiming != nil {
			l.claiming.NoteRun()
		}
	}
	d.replaceBegun(t)
	d.decidedTick(t)
}

// over removes an attempt that has ended.
func (d *dispatcher) over(t *ticket, end attempt.End) {
	d.active--
	d.line.leave(t)
	t.Close()
	if t.lane.claiming == t {
		t.lane.claiming = nil
	}
	if j := t.owner; slices.Contains(j.running, t) {
		l := j.lane("")
		d.prune(j, l) // decides the ticks that the run blocked
		l.blocked = nil
		j.running = slices.DeleteFunc(j.running, func(r *ticket) bool { return r == t })
	}
	d.noteEarlier(t, end)
	d.decidedTick(t)
}

// decidedTick lets the job's lanes proceed after a tick, that of the schedule first.
func (d *dispatcher) decidedTick(t *ticket) {
	j := t.owner
	if t.watches && !t.catchesUp && j.Traits().Patient {
		// Their policy let the ticks behind it wait for a run on another replica.
		until, queue := d.now().Add(d.cfg.Window), t.lane.queue
		for i := range queue {
			if queue[i].Trigger != ledger.ByCatchUp && queue[i].Until.Before(until) {
				queue[i].Until = until
			}
		}
	}
	d.proceed(j, j.lane(""))
	if len(j.lanes) == 1 {
		return
	}
	for _, l := range slices.Clone(j.lanes) {
		d.proceed(j, l)
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
		t.Act == nil && !j.PausedFor(d.pauses).IsZero() {
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
	for _, l := range begun.owner.lanes {
		for _, t := range l.queue {
			d.replace(begun.owner, t)
		}
		if l.claiming != nil {
			d.replace(begun.owner, l.claiming.Tick)
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
func (j *jobState) inTheWay(b *attempt.Brief, catchesUp bool) *attempt.Run {
	for _, t := range j.running {
		if !b.Beside() || catchesUp && t.run.CaughtUp {
			return t.run
		}
	}
	return nil
}
