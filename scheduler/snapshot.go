package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Snapshot is the state of a replica at one moment.
type Snapshot struct {
	State string
	// Running lists the current runs, sorted by job.
	Running []RunInfo
	// Next lists each job's next tick, soonest first, without jobs that never fire again.
	Next []NextTick
	// Won is the number of claims that this replica has won since it started.
	Won int64
}

// A RunInfo is a current run.
type RunInfo struct {
	Job     string
	Claim   locking.Claim
	Started time.Time
	// Overdue is when the function began to ignore its ended context; zero if it does not.
	Overdue time.Time

	run *attempt.Run
}

// A NextTick is the next tick of a job.
type NextTick struct {
	Job  string
	Tick time.Time
}

// Snapshot returns the state of the scheduler. Any goroutine may call it. Before and after
// Run, State is StateStopped.
func (s *Scheduler) Snapshot() Snapshot { return s.query(true) }

// A query asks for a Snapshot, with or without the many next ticks, or for the accounts.
type query struct {
	next  bool
	reply chan Snapshot

	learned  map[string]time.Time
	accounts chan roster.Accounts // nil: it asks for a Snapshot
}

// query asks the loop, and sorts the answer in the caller's goroutine.
func (s *Scheduler) query(next bool) Snapshot {
	if !s.started.Load() {
		return Snapshot{State: StateStopped}
	}
	q := query{next: next, reply: make(chan Snapshot, 1)}
	select {
	case s.queries <- q:
	case <-s.done:
		return Snapshot{State: StateStopped}
	}
	now := <-q.reply
	slices.SortStableFunc(now.Running, func(a, b RunInfo) int { return strings.Compare(a.Job, b.Job) })
	slices.SortFunc(now.Next, func(a, b NextTick) int { return a.Tick.Compare(b.Tick) })
	return now
}

// accounted asks the loop for the accounts; learned has those of other replicas.
func (s *Scheduler) accounted(learned map[string]time.Time) roster.Accounts {
	q := query{learned: learned, accounts: make(chan roster.Accounts, 1)}
	select {
	case s.queries <- q:
		return <-q.accounts
	case <-s.done:
		return roster.Accounts{}
	}
}

// answer answers q, in the loop.
func (e *engine) answer(q query) {
	if q.accounts != nil {
		q.accounts <- e.accounted(q.learned)
		return
	}
	q.reply <- e.snapshot(q.next)
}

// snapshot makes a Snapshot, in the loop.
func (e *engine) snapshot(next bool) Snapshot {
	s := Snapshot{State: e.cfg.State(), Won: e.dispatch.wins}
	if e.dispatch.draining {
		s.State = StateDraining
	}
	if next = next && !e.dispatch.draining; next {
		s.Next = make([]NextTick, 0, len(e.jobs.list))
	}
	for _, list := range [][]*jobState{e.jobs.list, e.jobs.leaving} {
		if e.dispatch.active == 0 && !next {
			break // nothing runs
		}
		for _, j := range list {
			for _, t := range j.running {
				s.Running = append(s.Running, RunInfo{
					Job: t.Job.Name, Claim: t.run.Claim, Started: t.run.Started, Overdue: t.overdue, run: t.run,
				})
			}
			if next && !j.next.isZero() {
				s.Next = append(s.Next, NextTick{Job: j.Name, Tick: j.next.at})
			}
		}
	}
	return s
}

// Live returns a run of the named job on this replica and its log until now; false if there
// is none with the token. Any goroutine may call it.
func (s *Scheduler) Live(job string, token locking.Token) (ledger.Log, bool) {
	for _, r := range s.query(false).Running {
		if r.Job == job && r.Claim.Token == token {
			return r.run.LogSoFar(), true
		}
	}
	return ledger.Log{}, false
}
