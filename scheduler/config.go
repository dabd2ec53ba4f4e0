package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Config is what a Scheduler needs besides its jobs. Replica, Locker and Ledger are
// required; elsewhere the zero value means the default.
type Config struct {
	// Replica is the id under which this process appears in leases, ledger and
	// roster. It must be unique among the live replicas. Required.
	Replica string
	// Version, Host and PID are those of this process, for the roster.
	Version string
	Host    string
	PID     int
	// Instance tells this process from others under its ID. Default: random.
	Instance string
	// Program is the one that runs, which tells services apart.
	Program string
	// Labels are matched with those that jobs require; see jobs.Job.Labels.
	Labels map[string]string
	// State, if set, says how this replica describes itself while it is not draining.
	// Default: always "ready".
	State func() string
	// ClockOffset, if set, returns how far this machine's clock is ahead of those of
	// the nodes; false: it is not known.
	ClockOffset func() (time.Duration, bool)

	Stores

	// TTL of a lease. Default 15 s.
	TTL time.Duration
	// ExtendEvery is the pause between extensions. Default TTL/3.
	ExtendEvery time.Duration
	// SafetyMargin is how long before the end of its lease a job's context ends. Default
	// TTL/10.
	SafetyMargin time.Duration
	// MaxHold bounds how long the lease of one run is kept. Then the context of the run
	// ends with cause locking.ErrMaxHold, and its lease soon after, even if the function
	// does not return. Default 0: no bound.
	MaxHold time.Duration
	// Window is how long after its tick a claim may be tried; a window also ends when the
	// job's next tick comes. Default 2 × TTL, longer than the lease of a dead replica.
	Window time.Duration
	// Stagger is the head start of each rank: a replica waits rank × Stagger
	// before its first attempt. Default 20 ms; negative: none.
	Stagger time.Duration
	// MaxClockOffset is how far ClockOffset may be from zero. Beyond it the replica
	// announces StateSkewed, and every replica ranks it last. Default 500 ms; negative:
	// any.
	MaxClockOffset time.Duration
	// DrainTimeout is how long running jobs may continue after Run's context has ended.
	// Default 20 s.
	DrainTimeout time.Duration
	// StopTimeout is how long functions that were cancelled at the end of the
	// drain have to return. Default 5 s.
	StopTimeout time.Duration
	// BeatEvery is the pause between heartbeats to the roster. Default 5 s.
	BeatEvery time.Duration
	// CommandsEvery is the pause between two readings of the requests. Default 1.75 s.
	CommandsEvery time.Duration
	// SourceEvery is the pause between two readings of Config.Source. Default 30 s.
	SourceEvery time.Duration
	// ForgetAfter is how long after the last replica served a job Stores.Forget is called
	// for it. Default 0: never.
	ForgetAfter time.Duration

	Observer event.Observer // none: events are dropped
	// NotifySettled sends event.Settled to Observer. It costs one query of the ledger for each
	// tick that nobody ran, by the first replica that records it.
	NotifySettled bool
	// Middleware wraps each call of a function, the first one outermost, outside of the
	// registry's middleware.
	Middleware []jobs.Middleware
	// Logger is the base of the loggers that runs get. The scheduler itself logs nothing;
	// it notifies Observer. Default: discards.
	Logger *slog.Logger
	// Source yields further jobs, which may change at any time.
	Source Source

	// MaxClaims bounds the concurrent tries to claim. Ticks for which this replica has the
	// smallest rank go first. While nodes do not answer there are fewer. Default 128.
	MaxClaims int
	// MaxRunning bounds the concurrent runs on this replica. Ticks without a permit are left
	// to other replicas. Default 0: no bound.
	MaxRunning int
	// RecordQueue bounds the ticks without a run that wait to be recorded. Beyond it the
	// oldest are dropped. Default 10 000.
	RecordQueue int

	// Clock is the wall clock for schedules, and Random returns a random duration below
	// limit: the pause before the next try to claim. Both are for simulations. Default: the
	// system's clock, math/rand.
	Clock  func() time.Time
	Random func(job string, tick time.Time, limit time.Duration) time.Duration
}

// Stores keep the state that replicas share.
type Stores struct {
	Locker   locking.Locker // required
	Ledger   ledger.Store   // required
	Roster   roster.Roster  // none: this replica believes it is alone
	JobSets  roster.JobSets // none: sets of jobs are not published, and a roll-out cannot tell which jobs it removes
	Commands commands.Store // none: people cannot trigger, pause or cancel jobs
	Archive  ledger.Archive // none: no logs are kept, and Job.History is not applied
	// Forget deletes what is stored under the key of a removed job: claims, ledger and
	// logs. Its error matches locking.ErrTaken while the lock is held, and
	// locking.ErrNoQuorum when too few nodes did it. Deleting nothing is no error, and
	// repeating it must be harmless. None: nothing is deleted.
	Forget func(ctx context.Context, key string) error
}

// BackfillSlots returns the names of the locks that backfills of the job may have used.
// They are deleted with the job.
func BackfillSlots(key string) []string { return job.BackfillSlots(key) }

// WithDefaults returns a copy in which every zero value has its default.
func (c Config) WithDefaults() Config {
	c.TTL = cmp.Or(c.TTL, 15*time.Second)
	c.ExtendEvery = cmp.Or(c.ExtendEvery, c.TTL/3)
	c.SafetyMargin = cmp.Or(c.SafetyMargin, c.TTL/10)
	c.Window = cmp.Or(c.Window, 2*c.TTL)
	c.Stagger = cmp.Or(c.Stagger, 20*time.Millisecond)
	c.MaxClockOffset = cmp.Or(c.MaxClockOffset, 500*time.Millisecond)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 20*time.Second)
	c.StopTimeout = cmp.Or(c.StopTimeout, 5*time.Second)
	c.BeatEvery = cmp.Or(c.BeatEvery, 5*time.Second)
	c.CommandsEvery = cmp.Or(c.CommandsEvery, 1750*time.Millisecond)
	c.SourceEvery = cmp.Or(c.SourceEvery, 30*time.Second)
	c.MaxClaims = cmp.Or(c.MaxClaims, 128)
	c.RecordQueue = cmp.Or(c.RecordQueue, 10_000)
	c.Instance = cmp.Or(c.Instance, fmt.Sprintf("%012x", rand.N(uint64(1)<<48)))
	if c.Clock == nil {
		c.Clock = systemClock
	}
	if c.Random == nil {
		c.Random = randomDelay
	}
	if c.Observer == nil {
		c.Observer = func(event.Event) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.State == nil {
		c.State = func() string { return roster.StateReady }
	}
	return c
}

// settings are those that attempts need.
func (c Config) settings() attempt.Config {
	return attempt.Config{
		Replica: c.Replica, Labels: c.Labels, Locker: c.Locker, Ledger: c.Ledger, Commands: c.Commands, Archive: c.Archive,
		Observer: c.Observer, Middleware: c.Middleware, Logger: c.Logger,
		TTL: c.TTL, ExtendEvery: c.ExtendEvery, SafetyMargin: c.SafetyMargin, MaxHold: c.MaxHold, Window: c.Window, Stagger: c.Stagger,
		MaxClaims: c.MaxClaims, MaxRunning: c.MaxRunning, Random: c.Random,
	}
}

// Validate returns everything that is wrong with c, which should have its defaults.
func (c Config) Validate() error {
	var m mistakes
	m.refuse(c.Replica == "", "Replica is empty: give each process its own id")
	m.refuse(c.Locker == nil, "Locker is nil")
	m.refuse(c.Ledger == nil, "Ledger is nil")
	positive := func(field string, d time.Duration) { m.refuse(d < 0, "%s is %v: it must be positive", field, d) }
	positive("TTL", c.TTL)
	m.refuse(c.ExtendEvery < 0 || c.SafetyMargin < 0 || c.ExtendEvery+c.SafetyMargin >= c.TTL,
		"ExtendEvery (%v) plus SafetyMargin (%v) must stay below TTL (%v), or no extension comes in time",
		c.ExtendEvery, c.SafetyMargin, c.TTL)
	m.refuse(c.MaxHold < 0 || c.MaxHold > 0 && c.MaxHold < c.TTL,
		"MaxHold is %v: it must be at least TTL (%v), or 0 for no bound", c.MaxHold, c.TTL)
	positive("Window", c.Window)
	positive("DrainTimeout", c.DrainTimeout)
	positive("StopTimeout", c.StopTimeout)
	positive("BeatEvery", c.BeatEvery)
	positive("CommandsEvery", c.CommandsEvery)
	positive("SourceEvery", c.SourceEvery)
	m.refuse(c.ForgetAfter < 0 || c.ForgetAfter > 0 && c.ForgetAfter < MinForgetAfter,
		"ForgetAfter is %v: it must be at least %v, or 0 for never", c.ForgetAfter, MinForgetAfter)
	m.refuse(c.MaxClaims < 0, "MaxClaims is %d: it must be positive", c.MaxClaims)
	m.refuse(c.MaxRunning < 0, "MaxRunning is %d: it must not be negative, and 0 for no bound", c.MaxRunning)
	m.refuse(c.RecordQueue < 0, "RecordQueue is %d: it must be positive", c.RecordQueue)
	return errors.Join(m...)
}

// mistakes are what is wrong with a Config.
type mistakes []error

func (m *mistakes) refuse(bad bool, format string, args ...any) {
	if bad {
		*m = append(*m, fmt.Errorf("scheduler: Config."+format, args...))
	}
}

// randomDelay returns a random duration below limit.
func randomDelay(_ string, _ time.Time, limit time.Duration) time.Duration { return rand.N(limit) }

// MinForgetAfter is the smallest Config.ForgetAfter except 0: a roll-out, and its rollback,
// should be over by then.
const MinForgetAfter = time.Hour
