package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A replica that watches a tick of another replica claims no later tick. But it may have
// given a tick up before it learned that another had claimed it: it was starved, or cut off
// from the nodes. If it claimed the next tick after that replica died, the first could
// never be rerun. So, if a job's ticks are rerun, it asks the ledger before it tries
// whether the last run was interrupted, or may be soon, as after a start. It also does so
// when an unwatched tick's lease blocks it. Then that tick comes first.

// earlierTicks returns them for an attempt that begins. The attempt then checks what the
// lane is unsure of.
func (l *lane) earlierTicks(j *job.Job, t job.Tick) *attempt.EarlierTicks {
	if j.OnCrash != CrashRerun || t.Stream != "" {
		return nil
	}
	h := &attempt.EarlierTicks{Unsure: l.unsure && t.Trigger != ledger.ByRerun, WatchedUpTo: l.watchedUpTo}
	l.unsure = false
	return h
}

// learned returns them for an attempt that has begun, if the lane has become unsure since.
func (l *lane) learned(t *ticket) *attempt.EarlierTicks {
	if !l.unsure || l.claiming != t || t.Tick.Trigger == ledger.ByRerun {
		return nil
	}
	return l.earlierTicks(t.Job, t.Tick)
}

// lostSight notes that a run of this replica may have to run again: it is not known whether
// its transaction was committed.
func (l *lane) lostSight(j *jobState, at time.Time) {
	if l.stream == "" && j.OnCrash == CrashRerun {
		l.unsure = true
		if !at.After(l.watchedUpTo) {
			l.watchedUpTo = at.Add(-1)
		}
	}
}

// gaveUp notes that a tick was decided that another replica may run. None can if a run of
// this replica blocks all others.
func (l *lane) gaveUp(j *jobState) {
	if l.stream == "" && j.OnCrash == CrashRerun && len(j.running) == 0 {
		l.unsure = true
	}
}

// noteEarlier stores what an attempt has learned about ticks up to its own, and queues the
// one that comes first.
func (d *dispatcher) noteEarlier(t *ticket, end attempt.End) {
	l, own := t.lane, t.Tick
	if end.GaveUp {
		l.gaveUp(t.owner)
	}
	if end.Unknown {
		l.lostSight(t.owner, own.At)
	} else if t.watches && own.At.After(l.watchedUpTo) && t.PausedMeanwhile().Kind != job.Settled {
		l.watchedUpTo = own.At
	}
	switch {
	case end.Before.IsZero():
		return
	case !d.jobs.serves(t.owner):
		d.rec.Decided(t.Job, own, job.SkippedFor(ledger.CodeRemoved))
		return
	}
	own.Until = roster.Later(own.Until, end.Until)
	l.insert(own)
	l.insert(end.Before)
}
