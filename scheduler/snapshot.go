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
	StateWaiting  = "waiting" // for nodes, or for their grace
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
}

// A RunInfo is a run that goes on.
type RunInfo struct {
	Job     string
	Claim   locking.Claim
	Started time.Time
	// Overdue is since when the function has ignored its ended context; zero
	// while it does not.
	Overdue time.Time
}

// A NextTick is when a job comes due next.
type NextTick struct {
	Job  string
	Tick time.Time
}

// Snapshot asks the running scheduler what it does. It may be called from any
// goroutine; before Run and after it, State is StateStopped.
func (s *Scheduler) Snapshot() Snapshot {
	if !s.started.Load() {
		return Snapshot{State: StateStopped}
	}
	reply := make(chan Snapshot, 1)
	select {
	case s.asks <- reply:
		return <-reply
	case <-s.done:
		return Snapshot{State: StateStopped}
	}
}

// snapshot is taken by the loop.
func (e *engine) snapshot() Snapshot {
	s := Snapshot{State: e.cfg.State()}
	if e.draining {
		s.State = StateDraining
	}
	for _, j := range slices.Concat(e.jobs, e.leaving) {
		for _, a := range j.running {
			s.Running = append(s.Running, RunInfo{
				Job: a.job.Name, Claim: a.claim, Started: a.started, Overdue: a.overdue,
			})
		}
		if !j.next.isZero() && !e.draining {
			s.Next = append(s.Next, NextTick{Job: j.Name, Tick: j.next.at})
		}
	}
	slices.SortStableFunc(s.Running, func(a, b RunInfo) int { return strings.Compare(a.Job, b.Job) })
	slices.SortFunc(s.Next, func(a, b NextTick) int { return a.Tick.Compare(b.Tick) })
	return s
}
