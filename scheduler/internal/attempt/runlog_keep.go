package attempt

import (
	"context"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// archiveTimeout bounds storing the log of a run, and dropping old logs.
const archiveTimeout = 2 * time.Second

// archive stores the run's log. It is best effort within archiveTimeout: the run has ended.
func (r *Run) archive(e ledger.Entry) {
	text, cut := r.log.end()
	if r.cfg.Archive == nil || text == "" && !r.Job.History.Bounded() {
		return
	}
	var logs []ledger.Log
	if text != "" {
		logs = []ledger.Log{{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut}}
	}
	ctx, cancel := context.WithTimeout(r.stops.Releases, archiveTimeout)
	defer cancel()
	err := r.cfg.Archive.Store(ctx, e.Job, r.Job.History, logs...)
	for roster.Passing(err) && retry.After(ctx, endPause) {
		err = r.cfg.Archive.Store(ctx, e.Job, r.Job.History, logs...)
	}
	if err != nil {
		r.notifyOf(e, event.Event{Kind: event.NotArchived, Err: err})
	}
}

// logEvery is how often the log of a long run is stored, if it has grown: for readers at
// other replicas, and in case the replica dies.
const logEvery = 5 * time.Second

// storeLog stores the log of a run if it has grown, and returns its stored length. If that
// fails, it is stored later.
func (r *Run) storeLog(ctx context.Context, stored int) int {
	written := r.log.written()
	if written == stored {
		return stored
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	log := r.LogSoFar()
	if r.cfg.Archive.Store(ctx, log.Job, r.Job.History, log) != nil {
		return stored
	}
	return written
}

// LogSoFar is the run's entry and its log until now.
func (r *Run) LogSoFar() ledger.Log {
	e := r.entry(ledger.Running)
	text, cut := r.log.end()
	return ledger.Log{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut, At: r.Now(), Run: e}
}
