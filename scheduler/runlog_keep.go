package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking"
)

// archiveTimeout bounds storing the log of a run, and dropping what is old.
const archiveTimeout = 2 * time.Second

// archive stores what the run has logged. It is best effort: the run has ended.
func (a *attempt) archive(e Entry) {
	text, cut := a.log.end()
	if a.cfg.Archive == nil || text == "" && !a.job.History.bounded() {
		return
	}
	var logs []Log
	if text != "" {
		logs = []Log{{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut}}
	}
	ctx, cancel := context.WithTimeout(a.stops.releases, archiveTimeout)
	defer cancel()
	if err := a.cfg.Archive.Store(ctx, e.Job, a.job.History, logs...); err != nil {
		a.cfg.Observer.NotArchived(a.job.Name, e.OrderKey(), err)
	}
}

// logEvery is how often the log of a run that lasts is stored, if it has grown: who
// looks on at another replica sees it then, and of a run whose replica dies it is
// what remains.
const logEvery = 5 * time.Second

// storeLog stores the log of a run that goes on unless it is as long as it was, and
// returns how long it is now. What cannot be stored is, the next time or at the end.
func (a *attempt) storeLog(ctx context.Context, stored int) int {
	written := a.log.written()
	if written == stored {
		return stored
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	log := a.soFar()
	if a.cfg.Archive.Store(ctx, log.Job, a.job.History, log) != nil {
		return stored
	}
	return written
}

// soFar is the run, which goes on, and what it has logged.
func (a *attempt) soFar() Log {
	e := a.entry(Running, a.started)
	a.granted(&e)
	text, cut := a.log.end()
	return Log{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut, At: a.clock.wall(), Run: e}
}

// Live returns a run that goes on here, and what it has logged so far; false if there
// is none of the named job with the token. It may be called from any goroutine.
func (s *Scheduler) Live(job string, token locking.Token) (Log, bool) {
	for _, r := range s.ask(false).Running {
		if r.Job == job && r.Claim.Token == token {
			return r.run.soFar(), true
		}
	}
	return Log{}, false
}
