package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Config is what a Scheduler needs beside its jobs. Replica, Locker and Ledger
// are required; for everything else the zero value means the default.
type Config struct {
	// Replica is the id under which this process appears in leases, ledger and
	// roster. It must be unique among the live replicas. Required.
	Replica string
	// Version, Host and PID describe the process in the roster.
	Version string
	Host    string
	PID     int
	// Labels are what jobs may ask of this replica; see Job.Labels.
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
	Acts     acts.Store     // none: nothing can be asked of this replica
	Archive  ledger.Archive // none: no logs are kept, and Job.History is not applied
	Observer Observer       // none: nobody is told what happens
	// TellSettled has Observer told of EventSettled. That costs one query of the ledger
	// for each tick that nobody ran, by the first replica that records it.
	TellSettled bool
	// Middleware goes around each call of a function, the first one outermost, and
	// all of it outside of what the registry has.
	Middleware []jobs.Middleware
	// Logger is the base of the loggers that runs are given. The scheduler
	// itself logs nothing: Observer is told. Default: discards.
	Logger *slog.Logger

	// Source yields jobs besides those given to New, as they come and go.
	Source Source
	// SourceEvery is the pause between two questions to Source. Default 30 s.
	SourceEvery time.Duration

	// ForgetAfter is how long after the last replica served a job Forget is
	// called for it. Default 0: never.
	ForgetAfter time.Duration
	// Forget drops what is kept under the key of a job that was removed: claims,
	// ledger and logs. It returns an error that matches locking.ErrTaken while
	// somebody holds its lock, and locking.ErrNoQuorum when too few nodes did it;
	// that nothing is kept is no error. Asking again must be harmless. None:
	// nothing is forgotten.
	Forget func(ctx context.Context, key string) error

	// TTL of a lease. Default 15 s.
	TTL time.Duration
	// ExtendEvery is the pause between extensions. Default TTL/3.
	ExtendEvery time.Duration
	// SafetyMargin is how long before its lease a job's context ends.
	// Default TTL/10.
	SafetyMargin time.Duration
	// MaxHold bounds how long the lease of one run is kept. Where a run takes
	// longer, its context ends with cause locking.ErrMaxHold, and its lease soon
	// after, even if the function does not return. Default 0: no bound.
	MaxHold time.Duration
	// Window is how long after its tick a claim may still be tried; a window
	// also ends when the job's next tick comes. Default 2 × TTL, so that the
	// lease a dead replica left behind can be outwaited.
	Window time.Duration
	// Stagger is the head start of each rank: a replica waits rank × Stagger
	// before its first attempt. Default 20 ms; negative: none.
	Stagger time.Duration
	// MaxClockOffset is how far ClockOffset may be from zero. Beyond it the replica
	// says that it is StateSkewed, and all rank it behind those that are not.
	// Default 500 ms; negative: any.
	MaxClockOffset time.Duration
	// MaxTries bounds the attempts to claim one tick. Default 0: as many as the
	// window has room for.
	MaxTries int
	// DrainTimeout is how long running jobs may go on after Run's context has
	// ended. Default 20 s.
	DrainTimeout time.Duration
	// StopTimeout is how long functions that were cancelled at the end of the
	// drain have to return. Default 5 s.
	StopTimeout time.Duration
	// BeatEvery is the pause between heartbeats to the roster. Default 5 s.
	BeatEvery time.Duration
	// ActsEvery is the pause between looks at what was asked of the cluster.
	// Default 1 s.
	ActsEvery time.Duration
	// MaxClaims bounds the tries to claim that are under way at once. Of the
	// ticks that wait, those go first for which this replica is first in rank.
	// While nodes do not answer there are fewer. Default 128.
	MaxClaims int
	// MaxRunning bounds the runs that go on at once on this replica. Ticks for
	// which it has no place are left to others. Default 0: no bound.
	MaxRunning int
	// Clock is the wall clock that schedules go by, and Random returns a random
	// duration below limit: the pause before the next try to claim a tick. Both
	// are for simulations. Default: the system's clock, math/rand.
	Clock  func() time.Time
	Random func(job string, tick time.Time, limit time.Duration) time.Duration
	// RecordQueue bounds the ticks without a run that wait for a quorum to
	// record them; beyond it the oldest are dropped. Default 10 000.
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

// Validate says everything that is wrong with c, which should have its
// defaults.
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
	refuse(c.MaxTries < 0, "Config.MaxTries is %d: it must not be negative", c.MaxTries)
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
