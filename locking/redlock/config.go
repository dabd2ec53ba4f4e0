package redlock

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
)

// Defaults of a Config.
const (
	DefaultDriftFactor = 0.01
	DefaultKeep        = 1000
	DefaultCleanFor    = 10 * time.Minute
)

// leastDrift is taken off every lease besides the drift factor: Redis counts
// in milliseconds, and both ends round.
const leastDrift = 2 * time.Millisecond

// A Config says how leases are counted and what is kept.
type Config struct {
	// DriftFactor is the share of a TTL by which clocks may run apart while it
	// lasts. Default: DefaultDriftFactor.
	DriftFactor float64
	// Keep is how many records a node keeps per job. Default: DefaultKeep.
	Keep int
	// CleanFor is how long an attempt that was given up is cleaned up after on
	// nodes that do not answer. Default: DefaultCleanFor.
	CleanFor time.Duration

	// Clock is the wall clock that tokens follow, for simulations. Default:
	// time.Now.
	Clock func() time.Time
	// Random returns the value that tells the attempt from all others, ever, for
	// simulations. Default: 128 random bits.
	Random func(req locking.Request) string
}

// WithDefaults returns a copy of c whose unset fields hold their defaults.
func (c Config) WithDefaults() Config {
	if c.DriftFactor == 0 {
		c.DriftFactor = DefaultDriftFactor
	}
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.CleanFor == 0 {
		c.CleanFor = DefaultCleanFor
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Random == nil {
		c.Random = func(locking.Request) string { return rand.Text() }
	}
	return c
}

// Validate reports everything that is wrong with c, joined. It expects the
// defaults to be filled in.
func (c Config) Validate() error {
	var errs []error
	if c.DriftFactor < 0 || c.DriftFactor >= 0.5 {
		errs = append(errs, fmt.Errorf("drift factor %v: use a share from 0 up to 0.5", c.DriftFactor))
	}
	if c.Keep < 1 {
		errs = append(errs, fmt.Errorf("keep %d: keep at least one record per job", c.Keep))
	}
	if c.CleanFor < 0 {
		errs = append(errs, fmt.Errorf("clean for %v: use a positive duration", c.CleanFor))
	}
	return errors.Join(errs...)
}

// drift is what is taken off a lease of length ttl.
func (c Config) drift(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*c.DriftFactor) + leastDrift
}

// check reports what is wrong with a request: mistakes of the caller, which no
// other try can mend.
func (l *Locker) check(req locking.Request) error {
	var errs []error
	if req.Name == "" {
		errs = append(errs, errors.New("no name"))
	}
	if req.Tick.Nanosecond()%int(time.Millisecond) != 0 {
		errs = append(errs, fmt.Errorf("tick %v: use whole milliseconds", req.Tick))
	}
	if !req.Tick.IsZero() && req.Tick.UnixMilli() <= 0 {
		errs = append(errs, fmt.Errorf("tick %v: use one after 1970", req.Tick))
	}
	errs = append(errs, req.CheckStream())
	if req.TTL%time.Millisecond != 0 || req.TTL <= 4*l.set.Timeout() {
		errs = append(errs, fmt.Errorf("ttl %v: use whole milliseconds, more than four times the node timeout of %v", req.TTL, l.set.Timeout()))
	}
	if req.TTL > l.set.TTL() {
		errs = append(errs, fmt.Errorf("ttl %v: the nodes are set up for %v at most", req.TTL, l.set.TTL()))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bad lock request %q: %w", req.Name, err)
	}
	return nil
}
