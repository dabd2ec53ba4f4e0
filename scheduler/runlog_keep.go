package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// archiveTimeout bounds storing the log of a run, and dropping old logs.
const archiveTimeout = 2 * time.Second

// archive stores the run's log. It is best effort: the run has ended.
func (x *execution) archive(e ledger.Entry) {
	text, cut := x.log.end()
	if x.cfg.Archive == nil || text == "" && !x.job.History.Bounded() {
		return
	}
	var logs []ledger.Log
	if text != "" {
		logs = []ledger.Log{{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut}}
	}
	ctx, cancel := context.WithTimeout(x.stops.releases, archiveTimeout)
	defer cancel()
	if err := x.cfg.Archive.Store(ctx, e.Job, x.job.History, logs...); err != nil {
		x.notifyOf(e, Event{Kind: EventNotArchived, Err: err})
	}
}

// logEvery is how often the log of a long run is stored, if it has grown: for readers at
// other replicas, and in case the replica dies.
const logEvery = 5 * time.Second

// storeLog stores the log of a run if it has grown, and returns its stored length. If that
// fails, it is stored later.
func (x *execution) storeLog(ctx context.Context, stored int) int {
	written := x.log.written()
	if written == stored {
		return stored
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	log := x.logSoFar()
	if x.cfg.Archive.Store(ctx, log.Job, x.job.History, log) != nil {
		return stored
	}
	return written
}

// logSoFar is the run's entry and its log until now.
func (x *execution) logSoFar() ledger.Log {
	e := x.runningEntry()
	text, cut := x.log.end()
	return ledger.Log{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut, At: x.clock.wall(), Run: e}
}

// Live returns a run of the named job on this replica and its log until now; false if there
// is none with the token. Any goroutine may call it.
func (s *Scheduler) Live(job string, token locking.Token) (ledger.Log, bool) {
	for _, r := range s.query(false).Running {
		if r.Job == job && r.Claim.Token == token {
			return r.run.logSoFar(), true
		}
	}
	return ledger.Log{}, false
}
