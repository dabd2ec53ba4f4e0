package claims

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
)

// Defaults of Config.
const (
	DefaultGrace       = 20 * time.Second
	DefaultTimeout     = time.Second
	DefaultDriftFactor = 0.01
	DefaultCleanFor    = 10 * time.Minute
)

// minDrift is taken off every lease besides the drift factor: the store counts in whole
// milliseconds, and both ends are rounded.
const minDrift = 2 * time.Millisecond

// A Config says how leases are counted.
type Config struct {
	// TTL is the length of a lease. It must be below Grace. Default: locking.DefaultTTL.
	TTL time.Duration
	// Grace is how long nothing is granted in another life of the store. All programs that
	// use the store must set the same. Default: DefaultGrace.
	Grace time.Duration
	// Timeout bounds each call to the store. It must be below TTL/4. Default:
	// DefaultTimeout.
	Timeout time.Duration
	// DriftFactor is the share of a TTL by which clocks may drift apart meanwhile.
	// Default: DefaultDriftFactor.
	DriftFactor float64
	// CleanFor is how long a Locker tries to void a claim in the background while the store
	// does not answer. Default: DefaultCleanFor.
	CleanFor time.Duration
	// Trim drops entries of a job that are too many. It is called after about one of a
	// hundred runs. Default: entries are never dropped.
	Trim func(ctx context.Context, job string) error
	// Unreadable notes records that cannot be read.
	Unreadable *unreadable.Log
	// Schema is that of the store's functions, quoted, if a transaction of a job may end its run
	// there. Empty: it cannot.
	Schema string
	// Random returns the unique value of a try, for simulations. Default: 128 random bits.
	Random func(req locking.Request) string
}

// WithDefaults returns a copy of c whose unset fields hold their defaults.
func (c Config) WithDefaults() Config {
	c.TTL = cmp.Or(c.TTL, locking.DefaultTTL)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.DriftFactor = cmp.Or(c.DriftFactor, DefaultDriftFactor)
	c.CleanFor = cmp.Or(c.CleanFor, DefaultCleanFor)
	if c.Random == nil {
		c.Random = func(locking.Request) string { return rand.Text() }
	}
	return c
}

// Validate reports everything that is wrong with c, joined. The defaults must be filled in.
func (c Config) Validate() error {
	var errs []error
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout %v: use a positive duration", c.Timeout))
	}
	if c.DriftFactor < 0 || c.DriftFactor >= 0.5 {
		errs = append(errs, fmt.Errorf("drift factor %v: use a share from 0 up to 0.5", c.DriftFactor))
	}
	if c.CleanFor < 0 {
		errs = append(errs, fmt.Errorf("clean for %v: use a positive duration", c.CleanFor))
	}
	return errors.Join(append(errs, c.checkTTL(c.TTL))...)
}

func (c Config) checkTTL(ttl time.Duration) error {
	var errs []error
	if ttl%time.Millisecond != 0 || ttl <= 4*c.Timeout {
		errs = append(errs, fmt.Errorf("ttl %v: use whole milliseconds, more than four times the timeout of %v", ttl, c.Timeout))
	}
	if ttl >= c.Grace {
		errs = append(errs, fmt.Errorf("ttl %v: use less than the grace of the store, %v: after a failover it grants claims then", ttl, c.Grace))
	}
	return errors.Join(errs...)
}

// validity is the length of a lease by its holder's clock.
func (c Config) validity(ttl time.Duration) time.Duration {
	return ttl - time.Duration(float64(ttl)*c.DriftFactor) - minDrift
}

// longer is the pause after one of d, before what has failed or lost is tried again: none at first.
func (c Config) longer(d time.Duration) time.Duration {
	return min(2*d+c.Timeout/8, retry.LongestPause)
}

// check reports mistakes in a request, which no retry can fix.
func (c Config) check(req locking.Request) error {
	errs := []error{req.CheckStream(), c.checkTTL(req.TTL)}
	if req.Name == "" {
		errs = append(errs, errors.New("no name"))
	}
	if req.Tick.Nanosecond()%int(time.Millisecond) != 0 {
		errs = append(errs, fmt.Errorf("tick %v: use whole milliseconds", req.Tick))
	}
	if !req.Tick.IsZero() && req.Tick.UnixMilli() <= 0 {
		errs = append(errs, fmt.Errorf("tick %v: use one after 1970", req.Tick))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bad lock request %q: %w", req.Name, err)
	}
	return nil
}
