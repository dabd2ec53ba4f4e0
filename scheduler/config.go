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
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Config is what a Scheduler needs besides its jobs. Replica, Locker and Ledger are
// required; elsewhere the zero value means the default.
type Config struct {
	// Replica is the id under which this process appears in leases, ledger and
	// roster. It must be unique among the live replicas. Required.
	Replica string
	// Version, Host and PID describe the process in the roster.
	Version string
	Host    string
	PID     int
	// Labels are matched with those that jobs require; see Job.Labels.
	Labels map[string]string
	// State, if set, says how this replica describes itself in the roster while
	// it is not draining. Default: always "ready".
	State func() string
	// ClockOffset, if set, returns how far this machine's clock is ahead of those of
	// the nodes, for the roster; false: it is not known.
	ClockOffset func() (time.Duration, bool)

	Locker   locking.Locker // required
	Ledger   ledger.Store   // required
	Roster   Roster         // none: this replica believes it is alone
	JobSets  JobSets        // none: sets of jobs are not published, and a roll-out cannot tell which jobs it removes
	Acts     acts.Store     // none: people cannot trigger, pause or cancel jobs
	Archive  ledger.Archive // none: no logs are kept, and Job.History is not applied
	Observer Observer       // none: events are dropped
	// NotifySettled sends EventSettled to Observer. It costs one query of the ledger for each
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
	// SourceEvery is the pause between two readings of Source. Default 30 s.
	SourceEvery time.Duration

	// ForgetAfter is how long after the last replica served a job Forget is called for it.
	// Default 0: never.
	ForgetAfter time.Duration
	// Forget deletes what is stored under the key of a removed job: claims, ledger and
	// logs. Its error matches locking.ErrTaken while the lock is held, and
	// locking.ErrNoQuorum when too few nodes did it. Deleting nothing is no error, and
	// repeating it must be harmless. None: nothing is deleted.
	Forget func(ctx context.Context, key string) error

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
	// ActsEvery is the pause between two readings of the requests. Default 1 s.
	ActsEvery time.Duration
	// MaxClaims bounds the concurrent tries to claim. Ticks for which this replica has the
	// smallest rank go first. While nodes do not answer there are fewer. Default 128.
	MaxClaims int
	// MaxRunning bounds the concurrent runs on this replica. Ticks without a place are left
	// to other replicas. Default 0: no bound.
	MaxRunning int
	// Clock is the wall clock for schedules, and Random returns a random duration below
	// limit: the pause before the next try to claim. Both are for simulations. Default: the
	// system's clock, math/rand.
	Clock  func() time.Time
	Random func(job string, tick time.Time, limit time.Duration) time.Duration
	// RecordQueue bounds the ticks without a run that wait to be recorded. Beyond it the
	// oldest are dropped. Default 10 000.
	RecordQueue int
}

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
	c.ActsEvery = cmp.Or(c.ActsEvery, time.Second)
	c.MaxClaims = cmp.Or(c.MaxClaims, 128)
	c.RecordQueue = cmp.Or(c.RecordQueue, 10_000)
	c.SourceEvery = cmp.Or(c.SourceEvery, 30*time.Second)
	if c.Clock == nil {
		c.Clock = systemClock
	}
	if c.Random == nil {
		c.Random = randomDelay
	}
	if c.Observer == nil {
		c.Observer = func(Event) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.State == nil {
		c.State = func() string { return StateReady }
	}
	return c
}

// settings are those that attempts need.
func (c Config) settings() attempt.Config {
	return attempt.Config{
		Replica: c.Replica, Labels: c.Labels, Locker: c.Locker, Ledger: c.Ledger, Acts: c.Acts, Archive: c.Archive,
		Observer: c.Observer, Middleware: c.Middleware, Logger: c.Logger,
		TTL: c.TTL, ExtendEvery: c.ExtendEvery, SafetyMargin: c.SafetyMargin, MaxHold: c.MaxHold, Window: c.Window, Stagger: c.Stagger,
		MaxClaims: c.MaxClaims, MaxRunning: c.MaxRunning, Random: c.Random,
	}
}

// Validate returns everything that is wrong with c, which should have its defaults.
func (c Config) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("scheduler: "+format, args...))
		}
	}
	refuse(c.Replica == "", "Config.Replica is empty: give each process its own id")
	refuse(c.Locker == nil, "Config.Locker is nil")
	refuse(c.Ledger == nil, "Config.Ledger is nil")
	refuse(c.TTL < 0, "Config.TTL is %v: it must be positive", c.TTL)
	refuse(c.ExtendEvery < 0 || c.SafetyMargin < 0 || c.ExtendEvery+c.SafetyMargin >= c.TTL,
		"Config.ExtendEvery (%v) plus SafetyMargin (%v) must stay below TTL (%v), or no extension comes in time",
		c.ExtendEvery, c.SafetyMargin, c.TTL)
	refuse(c.MaxHold < 0 || c.MaxHold > 0 && c.MaxHold < c.TTL,
		"Config.MaxHold is %v: it must be at least TTL (%v), or 0 for no bound", c.MaxHold, c.TTL)
	refuse(c.Window < 0, "Config.Window is %v: it must be positive", c.Window)
	refuse(c.DrainTimeout < 0, "Config.DrainTimeout is %v: it must be positive", c.DrainTimeout)
	refuse(c.StopTimeout < 0, "Config.StopTimeout is %v: it must be positive", c.StopTimeout)
	refuse(c.MaxClaims < 0, "Config.MaxClaims is %d: it must be positive", c.MaxClaims)
	refuse(c.MaxRunning < 0, "Config.MaxRunning is %d: it must not be negative, and 0 for no bound", c.MaxRunning)
	refuse(c.BeatEvery < 0, "Config.BeatEvery is %v: it must be positive", c.BeatEvery)
	refuse(c.SourceEvery < 0, "Config.SourceEvery is %v: it must be positive", c.SourceEvery)
	refuse(c.ForgetAfter < 0 || c.ForgetAfter > 0 && c.ForgetAfter < MinForgetAfter,
		"Config.ForgetAfter is %v: it must be at least %v, or 0 for never", c.ForgetAfter, MinForgetAfter)
	refuse(c.ActsEvery < 0, "Config.ActsEvery is %v: it must be positive", c.ActsEvery)
	refuse(c.RecordQueue < 0, "Config.RecordQueue is %d: it must be positive", c.RecordQueue)
	return errors.Join(errs...)
}

// randomDelay returns a random duration below limit.
func randomDelay(_ string, _ time.Time, limit time.Duration) time.Duration { return rand.N(limit) }
