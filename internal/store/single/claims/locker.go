// Package claims grants leases on one consistent store. Its [Locker] gives the promises and
// the answers of package redlock with a single node. Package protocol decides; this package
// reads the records of a name, and writes what a rule has changed.
//
// # Transactions
//
// Each transaction compares the versions of all records that its decision rests on, and the
// store's incarnation. If it loses, the Locker reads and decides again.
//
//   - CLAIM compares the claims, the leases, the incarnation record, and for a name without claims
//     what was forgotten. It writes the claims, the lease and the ledger's entry. A claim
//     that is granted despite a lease that has expired writes or deletes that lease, too.
//   - EXTEND compares and writes the lease alone: the lease is unchanged as long as no claim
//     that excludes its owner was granted.
//   - FINISH and VOID compare and write the claims, and write the entry. They leave the lease,
//     which counts only while its claim is open. A FINISH that decides without reading also
//     compares the lease.
//
// # Unknown outcomes
//
// An error of a commit leaves its outcome unknown. The next transaction of the same try
// settles it: of two that compare the same claims, one wins. If the try gives up first, VOID
// does so in the background: it writes the claims in any case, so a claim that is still under way loses.
//
// # Incarnations
//
// While the record does not know the incarnation for a whole grace, no claim is granted.
// Holders continue: an extension or an end that finds the claim missing adds it again,
// unless another one excludes it (rule C3: COMMIT with join).
//
// # Stores without a clock
//
// On a store without a clock a lease ends by observation. The Locker notes when it first saw
// the present version of a lease. The lease is free once that version has been seen, unchanged,
// for the lease's ttl and the drift, by the monotonic clock of this process: it was written
// before it was seen, and its holder counts from before it was written. The transaction
// compares the version, so an extension meanwhile makes it lose. The rules are given this
// computed end, and the local clock in place of the store's.
//
//   - Sightings are kept for each Locker and are few: one for each lease. A Locker that has just
//     begun waits for a ttl. [Locker.Observe], called with each heartbeat, sees leases before
//     anybody contends for them.
//   - Ticks are decided by the claim, and tokens grow because each is above the stored fence.
//     A token is at least the local clock, but no token is refused as too large: a replica whose
//     clock is ahead must not stop the others.
//   - A tick too far ahead of the local clock is refused. That is a check of plausibility.
//   - An eviction is kept until its claim has ended or been replaced. Its time only bounds how
//     long the reason is known afterwards.
//   - Listings and FORGET judge leases by the time that the holder wrote: they assume that
//     clocks differ by at most half the grace. So a dead holder is listed that much longer.
//   - In another incarnation, claims are granted after a grace and a half by the clock of the replica that
//     noticed it. Like listings, this assumes that clocks differ by at most half the grace. Etcd and ZooKeeper begin another
//     incarnation only when an operator restores a backup.
package claims

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
)

// DefaultTimeout is that of a Config.
const DefaultTimeout = time.Second

// minDrift is taken off every lease besides the drift factor: the store counts in whole
// milliseconds, and both ends are rounded.
const minDrift = 2 * time.Millisecond

// A Config says how leases are counted.
type Config struct {
	// TTL is the length of a lease. It must be below Grace. Default: locking.DefaultTTL.
	TTL time.Duration
	// Grace is how long nothing is granted in another incarnation of the store. All programs that
	// use the store must set the same. Default: 20 s.
	Grace time.Duration
	// Timeout bounds each call to the store. It must be below TTL/4. Default: DefaultTimeout.
	Timeout time.Duration
	// DriftFactor is the share of a TTL by which clocks may drift apart meanwhile.
	// Default: 0.01.
	DriftFactor float64
	// CleanFor is how long a Locker tries to void a claim in the background while the store
	// does not answer. Default: 10 minutes.
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
	c.Grace = cmp.Or(c.Grace, 20*time.Second)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.DriftFactor = cmp.Or(c.DriftFactor, 0.01)
	c.CleanFor = cmp.Or(c.CleanFor, 10*time.Minute)
	if c.Random == nil {
		c.Random = func(locking.Request) string { return rand.Text() }
	}
	return c
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

// nextPause is the pause between two tries of what has failed or lost, after a pause of last. The
// first one is 0.
func (c Config) nextPause(last time.Duration) time.Duration {
	return min(2*last+c.Timeout/8, retry.LongestPause)
}

// check reports mistakes in a request, which no retry can fix.
func (c Config) check(req locking.Request) error {
	if err := errors.Join(req.Check(), c.checkTTL(req.TTL)); err != nil {
		return fmt.Errorf("bad lock request %q: %w", req.Name, err)
	}
	return nil
}

// A Locker grants leases on a store. It may be used by many goroutines.
type Locker struct {
	store kv.Store
	cfg   Config
	// cleaner voids claims that may have been made, or may still be made, by tries that have
	// given up. Until then such a claim may block a tick that no one runs.
	cleaner  *retry.Background
	voids    chan struct{} // the calls that the cleaner makes at a time
	observer observer
}

var _ locking.Watcher = (*Locker)(nil)

// New returns a Locker on a store, which must stay open until the Locker is closed. It reports
// everything that is wrong with the Config, joined.
func New(s kv.Store, cfg Config) (*Locker, error) {
	cfg = cfg.WithDefaults()
	var errs []error
	if cfg.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout %v: use a positive duration", cfg.Timeout))
	}
	if cfg.DriftFactor < 0 || cfg.DriftFactor >= 0.5 {
		errs = append(errs, fmt.Errorf("drift factor %v: use a share from 0 up to 0.5", cfg.DriftFactor))
	}
	if cfg.CleanFor < 0 {
		errs = append(errs, fmt.Errorf("clean for %v: use a positive duration", cfg.CleanFor))
	}
	if err := errors.Join(append(errs, cfg.checkTTL(cfg.TTL))...); err != nil {
		return nil, err
	}
	return &Locker{store: s, cfg: cfg, cleaner: retry.NewBackground(cfg.Timeout/4, cfg.CleanFor), voids: make(chan struct{}, maxVoids)}, nil
}

// Close stops voiding claims in the background, and waits for requests in flight. Leases
// stay valid.
func (l *Locker) Close() error {
	l.cleaner.Close()
	return nil
}

// request bounds one request to the store. The end of ctx does not interrupt it, since it
// might still take effect.
func (l *Locker) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Timeout)
}
