package scheduler

import (
	"cmp"
	"time"
)

// MinForgetAfter is the smallest Config.ForgetAfter except 0: a roll-out, and its rollback,
// should be over by then.
const MinForgetAfter = time.Hour

// Timing has the durations of a Config.
type Timing struct {
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
	// MaxClockOffset is how far Process.ClockOffset may be from zero. Beyond it the replica
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
	// ActsEvery is the pause between two readings of the requests. Default 1.75 s.
	ActsEvery time.Duration
	// SourceEvery is the pause between two readings of Config.Source. Default 30 s.
	SourceEvery time.Duration
	// ForgetAfter is how long after the last replica served a job Stores.Forget is called
	// for it. Default 0: never.
	ForgetAfter time.Duration
}

func (t Timing) withDefaults() Timing {
	t.TTL = cmp.Or(t.TTL, 15*time.Second)
	t.ExtendEvery = cmp.Or(t.ExtendEvery, t.TTL/3)
	t.SafetyMargin = cmp.Or(t.SafetyMargin, t.TTL/10)
	t.Window = cmp.Or(t.Window, 2*t.TTL)
	t.Stagger = cmp.Or(t.Stagger, 20*time.Millisecond)
	t.MaxClockOffset = cmp.Or(t.MaxClockOffset, 500*time.Millisecond)
	t.DrainTimeout = cmp.Or(t.DrainTimeout, 20*time.Second)
	t.StopTimeout = cmp.Or(t.StopTimeout, 5*time.Second)
	t.BeatEvery = cmp.Or(t.BeatEvery, 5*time.Second)
	t.ActsEvery = cmp.Or(t.ActsEvery, 1750*time.Millisecond)
	t.SourceEvery = cmp.Or(t.SourceEvery, 30*time.Second)
	return t
}

func (t Timing) validate(m *mistakes) {
	positive := func(field string, d time.Duration) { m.refuse(d < 0, "%s is %v: it must be positive", field, d) }
	positive("TTL", t.TTL)
	m.refuse(t.ExtendEvery < 0 || t.SafetyMargin < 0 || t.ExtendEvery+t.SafetyMargin >= t.TTL,
		"ExtendEvery (%v) plus SafetyMargin (%v) must stay below TTL (%v), or no extension comes in time",
		t.ExtendEvery, t.SafetyMargin, t.TTL)
	m.refuse(t.MaxHold < 0 || t.MaxHold > 0 && t.MaxHold < t.TTL,
		"MaxHold is %v: it must be at least TTL (%v), or 0 for no bound", t.MaxHold, t.TTL)
	positive("Window", t.Window)
	positive("DrainTimeout", t.DrainTimeout)
	positive("StopTimeout", t.StopTimeout)
	positive("BeatEvery", t.BeatEvery)
	positive("ActsEvery", t.ActsEvery)
	positive("SourceEvery", t.SourceEvery)
	m.refuse(t.ForgetAfter < 0 || t.ForgetAfter > 0 && t.ForgetAfter < MinForgetAfter,
		"ForgetAfter is %v: it must be at least %v, or 0 for never", t.ForgetAfter, MinForgetAfter)
}
