package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// archiveTimeout bounds storing the log of a run, and dropping what is old.
const archiveTimeout = 2 * time.Second

// archive stores what the run has logged. It is best effort: the run has ended.
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
		x.tellOf(e, Event{Kind: EventNotArchived, Err: err})
	}
}

// logEvery is how often the log of a run that lasts is stored, if it has grown: who
// looks on at another replica sees it then, and of a run whose replica dies it is
// what remains.
const logEvery = 5 * time.Second

// storeLog stores the log of a run that goes on unless it is as long as it was, and
// returns how long it is now. What cannot be stored is, the next time or at the end.
func (x *execution) storeLog(ctx context.Context, stored int) int {
	written := x.log.written()
	if written == stored {
		return stored
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	log := x.soFar()
	if x.cfg.Archive.Store(ctx, log.Job, x.job.History, log) != nil {
		return stored
	}
	return written
}

// soFar is the run, which goes on, and what it has logged.
func (x *execution) soFar() ledger.Log {
	e := x.going()
	text, cut := x.log.end()
	return ledger.Log{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut, At: x.clock.wall(), Run: e}
}

// Live returns a run that goes on here, and what it has logged so far; false if there
// is none of the named job with the token. It may be called from any goroutine.
func (s *Scheduler) Live(job string, token locking.Token) (ledger.Log, bool) {
	for _, r := range s.ask(false).Running {
		if r.Job == job && r.Claim.Token == token {
			return r.run.soFar(), true
		}
	}
	return ledger.Log{}, false
}
