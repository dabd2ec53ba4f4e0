// Package scheduler runs jobs on N identical replicas: every tick of a job's
// schedule runs on exactly one of them.
//
// Most programs use package replica, which connects a Scheduler to the nodes. Use this
// package directly to bring your own stores.
//
//	s, err := scheduler.New(scheduler.Config{
//		Replica: "web-1", // unique among the live replicas
//		Stores: scheduler.Stores{
//			Locker: locker, // decides which replica runs a tick
//			Ledger: ledger, // keeps the outcome of every tick
//			Roster: roster, // knows the live replicas
//		},
//	}, []jobs.Job{report})
//	err = s.Run(ctx) // drains when ctx ends
//
// # What it promises
//
//   - At most one replica runs a tick, if the Locker grants a tick once.
//     A job with [jobs.OnCrash] rerun may run again after its replica died, with a
//     larger token.
//   - A function runs under a lease. Its context ends Config.SafetyMargin before
//     the lease does, with a cause that says why.
//   - The [ledger.Store] gets an outcome and a [ledger.Reason] for every tick that a replica
//     noticed, also for those that did not run.
//   - Ticks of a job are claimed in order. Its runs overlap only if its [jobs.Overlap]
//     policy allows it.
//
// It does not promise that a tick runs: no replica may be alive, or the Locker
// may not answer. Job.CatchUp runs such ticks later.
//
// # How replicas share the work
//
// Replicas do not talk to each other. The [roster.Roster] tells them which others are
// alive, so they agree on an order for each tick: a replica waits its rank times
// Config.Stagger before it tries. The order saves messages; the Locker alone
// decides. A replica tries within the window of the tick, which ends at the job's
// next tick, and at the latest after Config.Window.
//
// # Changing jobs and asking for runs
//
// [Scheduler.Update] replaces the jobs while they run; a [Source] yields further
// ones. With [commands.Store], people trigger, backfill, pause and cancel jobs, and the
// result is in the ledger. Pauses survive all replicas.
//
// # Stopping
//
// When the context of [Scheduler.Run] ends, the replica drains: it claims no more
// ticks. Runs keep their leases for Config.DrainTimeout, then their contexts end
// with cause jobs.ErrDraining. If functions still have not returned after
// Config.StopTimeout, Run returns a [StuckError] that names them.
// [Scheduler.Abort] ends the wait.
//
// docs/architecture.md explains the engine.
package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/internal/recorder"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Scheduler is one replica: it claims the ticks of its jobs and runs those it wins.
// Create one with New.
type Scheduler struct {
	cfg    Config
	clock  clocks
	lineup lineup
	public *presence.Publisher

	started atomic.Bool
	queries chan func(*engine)
	done    chan struct{} // closed when the loop has ended

	refresh chan struct{} // holds one element after Refresh

	aborted   chan struct{}
	abortOnce sync.Once
}

// New checks cfg and list and returns a Scheduler that does not run yet. The error joins
// everything that is wrong.
func New(cfg Config, list []jobs.Job) (*Scheduler, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		cfg: cfg, clock: newClocks(cfg.Clock), public: presence.New(cfg.Replica, cfg.Instance, cfg.Roster, cfg.JobSets, cfg.Clock, cfg.BeatEvery),
		queries: make(chan func(*engine)), done: make(chan struct{}), aborted: make(chan struct{}),
		refresh: make(chan struct{}, 1),
	}
	s.lineup.serving = map[string]*lineupJob{}
	if _, err := s.set(list, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// Run schedules until ctx ends, then drains: it claims no new ticks, extends the leases of
// running jobs for Config.DrainTimeout, cancels the rest with cause jobs.ErrDraining, and
// returns when all have ended and are recorded. It returns nil after a complete drain and a
// *StuckError when functions did not return. It may be called once.
func (s *Scheduler) Run(ctx context.Context) error {
	if !s.started.CompareAndSwap(false, true) {
		return ErrRunTwice
	}
	// Goroutines that serve the drain outlive ctx, and are ended here.
	base := context.WithoutCancel(ctx)
	recording, stopRecording := context.WithCancel(base)
	defer stopRecording()
	beating, stopBeating := context.WithCancel(base)
	defer stopBeating()

	heartbeat, rec := s.heartbeat(), recorder.New(recorder.Options{
		Replica: s.cfg.Replica, Ledger: s.cfg.Ledger, Archive: s.cfg.Archive, Roster: s.cfg.Roster, Observer: s.cfg.Observer,
		Settles: s.cfg.NotifySettled, Limit: s.cfg.RecordQueue, Now: s.cfg.Clock,
	})
	forgetter := presence.Forgetter{
		Replica: s.cfg.Replica, Roster: s.cfg.Roster, Forget: s.cfg.Forget, After: s.cfg.ForgetAfter,
		Observer: s.cfg.Observer, Now: s.clock.wall, Serves: s.public.Serves,
	}
	s.public.Live = heartbeat.Live
	s.public.Account = func(learned map[string]time.Time) (now presence.Accounts) {
		s.ask(func(e *engine) { now = e.accounted(learned) })
		return rec.Reduce(now)
	}
	var helpers sync.WaitGroup
	helpers.Go(func() { rec.Run(recording) })
	helpers.Go(func() { heartbeat.Run(beating) })
	helpers.Go(func() { s.public.Run(beating) })
	following, stopFollowing := context.WithCancel(ctx)
	defer stopFollowing()
	s.lineup.mu.Lock()
	engine := newEngine(base, s, rec, heartbeat.Live) // gets all later updates
	s.lineup.engine = engine
	s.lineup.mu.Unlock()
	helpers.Go(func() { engine.requests.desk.run(base) })
	helpers.Go(func() { s.follow(following) })
	helpers.Go(func() { forgetter.Run(following) })
	err := engine.run(ctx)

	stopFollowing()
	stopBeating()
	rec.Flush()
	stopRecording()
	helpers.Wait()
	s.public.Account = func(learned map[string]time.Time) presence.Accounts { return rec.Reduce(engine.accounted(learned)) }
	s.public.Finish(base)
	return err
}

// ErrRunTwice is returned by a second call of Scheduler.Run.
var ErrRunTwice = errors.New("scheduler: Run may be called once")

// A StuckError is returned by Scheduler.Run when functions still run after the drain,
// although their contexts have ended. The process should exit: the leases then expire.
type StuckError struct {
	Jobs []string // sorted; empty if a claim or a release did not end
}

// Error names the jobs.
func (e *StuckError) Error() string {
	if len(e.Jobs) == 0 {
		return "no job runs, but messages to the nodes did not end in time: the process was probably paused"
	}
	return "jobs ignore the end of their context and still run: " + strings.Join(e.Jobs, ", ")
}

// Abort cancels running jobs at once with cause jobs.ErrDraining, instead of after
// Config.DrainTimeout. It starts the drain if needed. Any goroutine may call it, at any
// time, more than once.
func (s *Scheduler) Abort() {
	s.abortOnce.Do(func() { close(s.aborted) })
}

// CheckParams does so for the job with the key. It returns nil for jobs that this replica
// does not serve.
func (s *Scheduler) CheckParams(key string, params json.RawMessage) error {
	if j := s.public.Job(key); j != nil {
		return j.CheckParams(params)
	}
	return nil
}

// heartbeat returns the one of this replica, which starts now.
func (s *Scheduler) heartbeat() *presence.Heartbeat {
	started := s.clock.wall()
	return &presence.Heartbeat{
		Roster: s.cfg.Roster, Every: s.cfg.BeatEvery,
		Self:     func() roster.Replica { return s.cfg.describe(s.query(false), s.public.Serving(), started) },
		Observer: s.cfg.Observer, Sets: s.cfg.JobSets, Own: s.public.Set, Now: s.clock.wall,
	}
}

// describe returns what the roster shows of this replica.
func (c Config) describe(now Snapshot, serving presence.Serving, started time.Time) roster.Replica {
	running := make([]string, len(now.Running))
	for i, r := range now.Running {
		running[i] = r.Job
	}
	self := roster.Replica{
		ID: c.Replica, Instance: c.Instance, Program: c.Program, Version: c.Version, Host: c.Host, PID: c.PID,
		Started: started, Seen: time.Now().Round(0), State: now.State,
		Running: running, Labels: c.Labels,
		ConfigHash: serving.Hash, ConfigSince: serving.Since, Jobs: &serving.Jobs, Won: &now.Won,
	}
	if c.ClockOffset != nil {
		if ahead, ok := c.ClockOffset(); ok {
			self.ClockOffset = &ahead
			if most := c.MaxClockOffset; self.State == roster.StateReady && most >= 0 && ahead.Abs() > most {
				self.State = roster.StateSkewed
			}
		}
	}
	return self
}

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

// ask calls f in the loop. It returns false if that has not begun or has ended.
func (s *Scheduler) ask(f func(*engine)) bool {
	if !s.started.Load() {
		return false
	}
	done := make(chan struct{})
	select {
	case s.queries <- func(e *engine) { f(e); close(done) }:
		<-done
		return true
	case <-s.done:
		return false
	}
}

// query asks for a Snapshot, with or without the many next ticks, and sorts it in the
// caller's goroutine.
func (s *Scheduler) query(next bool) Snapshot {
	var now Snapshot
	if !s.ask(func(e *engine) { now = e.snapshot(next) }) {
		return Snapshot{State: roster.StateStopped}
	}
	slices.SortStableFunc(now.Running, func(a, b RunInfo) int { return strings.Compare(a.Job, b.Job) })
	slices.SortFunc(now.Next, func(a, b NextTick) int { return a.Tick.Compare(b.Tick) })
	return now
}

// snapshot makes a Snapshot, in the loop.
func (e *engine) snapshot(next bool) Snapshot {
	s := Snapshot{State: e.cfg.State(), Won: e.dispatch.wins}
	if e.dispatch.draining {
		s.State = roster.StateDraining
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
