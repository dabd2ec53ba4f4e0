package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
)

// States in which a replica describes itself.
const (
	StateReady    = "ready"
	StateWaiting  = "waiting" // for a quorum, or for the nodes' grace
	StateSkewed   = "skewed"  // its clock is off by more than Config.MaxClockOffset: it tries last
	StateDraining = "draining"
	StateStopped  = "stopped" // not started yet, or returned
)

// A Snapshot is what a replica does at one moment.
type Snapshot struct {
	State string
	// Running lists the runs that go on, sorted by job.
	Running []RunInfo
	// Next lists each job's next tick, soonest first; jobs that never fire
	// again are left out.
	Next []NextTick
	// Won is how many claims this replica has won since it started.
	Won int64
}

// A RunInfo is a run that goes on.
type RunInfo struct {
	Job     string
	Claim   locking.Claim
	Started time.Time
	// Overdue is since when the function has ignored its ended context; zero
	// while it does not.
	Overdue time.Time

	run *execution
}

// A NextTick is when a job comes due next.
type NextTick struct {
	Job  string
	Tick time.Time
}

// Snapshot asks the running scheduler what it does. It may be called from any
// goroutine; before Run and after it, State is StateStopped.
func (s *Scheduler) Snapshot() Snapshot { return s.ask(true) }

// An ask is for a Snapshot, with or without the ticks to come, which are many, or for
// how far jobs are accounted for.
type ask struct {
	next  bool
	reply chan Snapshot

	learned  map[string]time.Time
	accounts chan accounts // nil: it is for a Snapshot
}

// ask asks the loop, and puts in order what that says, so that it need not.
func (s *Scheduler) ask(next bool) Snapshot {
	if !s.started.Load() {
		return Snapshot{State: StateStopped}
	}
	q := ask{next: next, reply: make(chan Snapshot, 1)}
	select {
	case s.asks <- q:
	case <-s.done:
		return Snapshot{State: StateStopped}
	}
	now := <-q.reply
	slices.SortStableFunc(now.Running, func(a, b RunInfo) int { return strings.Compare(a.Job, b.Job) })
	slices.SortFunc(now.Next, func(a, b NextTick) int { return a.Tick.Compare(b.Tick) })
	return now
}

// accounted asks the loop how far jobs are accounted for, when others have said so.
func (s *Scheduler) accounted(learned map[string]time.Time) accounts {
	q := ask{learned: learned, accounts: make(chan accounts, 1)}
	select {
	case s.asks <- q:
		return <-q.accounts
	case <-s.done:
		return accounts{}
	}
}

// answer is given by the loop.
func (e *engine) answer(q ask) {
	if q.accounts != nil {
		q.accounts <- e.accounted(q.learned)
		return
	}
	q.reply <- e.snapshot(q.next)
}

// snapshot is taken by the loop.
func (e *engine) snapshot(next bool) Snapshot {
	s := Snapshot{State: e.cfg.State(), Won: e.wins}
	if e.draining {
		s.State = StateDraining
	}
	if next = next && !e.draining; next {
		s.Next = make([]NextTick, 0, len(e.jobs))
	}
	for _, list := range [][]*job{e.jobs, e.leaving} {
		if e.active == 0 && !next {
			break // nothing runs
		}
		for _, j := range list {
			for _, t := range j.running {
				s.Running = append(s.Running, RunInfo{
					Job: t.job.Name, Claim: t.run.claim, Started: t.run.started, Overdue: t.overdue, run: t.run,
				})
			}
			if next && !j.next.isZero() {
				s.Next = append(s.Next, NextTick{Job: j.Name, Tick: j.next.at})
			}
		}
	}
	return s
}
