package redlock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A Locker grants leases by quorum. It may be used by many goroutines.
type Locker struct {
	set *membership.Set
	cfg Options
	// cleaner removes what ended tries may have left on nodes that did not answer. Until then
	// such a node may block a lock for a TTL, or a tick for a claim that no one runs. That
	// costs a vote but never causes a wrong one, so it may stop at any time.
	cleaner *retry.Background
	active  counter                    // requests of tries in flight
	names   *[locking.MostNodes]string // of the nodes
	list    uint32                     // identifies the node list
	// disconnect closes the set that Open has opened; nil: the caller owns the set.
	disconnect func() error
}

var _ locking.Watcher = (*Locker)(nil)

// New returns a Locker over the nodes of set, for programs that share the set with
// others. The set must stay open until the Locker is closed. [Open] does both.
func New(set *membership.Set, cfg Options) (*Locker, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Locker{set: set, cfg: cfg, cleaner: retry.NewBackground(set.Timeout(), cfg.CleanFor)}
	l.list, l.names = locking.NodeList(set.Names())
	return l, nil
}

// Set returns the nodes, for [Holders] and [Evict].
func (l *Locker) Set() *membership.Set { return l.set }

// Close stops cleaning up after ended tries, and waits for requests in flight. Leases
// stay valid. It also closes what Open has opened.
func (l *Locker) Close() error {
	l.cleaner.Close()
	l.active.wait()
	if l.disconnect == nil {
		return nil
	}
	return l.disconnect()
}

// Settle waits until all nodes have answered the requests of earlier calls, or timed
// out. Those calls themselves waited only for a quorum. Callers that read single nodes
// afterwards need it.
func (l *Locker) Settle() { l.active.wait() }

// TryAcquire implements locking.Locker. It takes at most a few node timeouts, and sends
// nothing if too few nodes are up. A try refused because of its numbers is repeated at
// once. When ctx ends, it finishes the round in flight and begins no other. For a
// request that no node could grant, such as one without a name or with an unsuitable
// TTL, the error is not an *AcquireError.
func (l *Locker) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	req.TTL = cmp.Or(req.TTL, l.set.TTL())
	if err := l.check(req); err != nil {
		return nil, err
	}
	if votes, able := l.able(ctx, req); !able {
		return nil, retry.Ended(ctx, newTry(l, req, "").refusal(votes, false))
	}
	for tries := 1; ; tries++ {
		t := newTry(l, req, l.cfg.Random(req))
		votes, deadline, err := t.win(ctx)
		if err == nil {
			return newLease(t, votes, deadline), nil
		}
		if tries == maxTries || ctx.Err() != nil || !t.retryable(votes) {
			return nil, retry.Ended(ctx, err)
		}
		req.Direct = false
	}
}

// able reports whether a try can succeed; if not, it returns the votes that say why.
func (l *Locker) able(ctx context.Context, req locking.Request) ([]vote, bool) {
	if ctx.Err() != nil {
		return make([]vote, l.set.Len()), false
	}
	if down := l.set.Lacking(); down != nil {
		votes := make([]vote, len(down))
		for i, r := range down {
			if r.Err != nil {
				votes[i] = parse(r)
			}
		}
		return votes, false
	}
	if req.Waiting {
		return l.look(ctx, req)
	}
	return nil, true
}

// Defaults of Options.
const (
	DefaultDriftFactor = 0.01
	DefaultKeep        = 1000
	DefaultCleanFor    = 10 * time.Minute
)

// minDrift is taken off every lease besides the drift factor: Redis counts in whole
// milliseconds, and both ends are rounded.
const minDrift = 2 * time.Millisecond

// Options say how leases are counted and what the nodes keep.
type Options struct {
	// DriftFactor is the share of a TTL by which clocks may drift apart meanwhile.
	// Default: DefaultDriftFactor.
	DriftFactor float64
	// Keep is how many records a node keeps per job. Default: DefaultKeep.
	Keep int
	// CleanFor is how long a Locker repeats the clean-up of a voided try on nodes that
	// do not answer. Default: DefaultCleanFor.
	CleanFor time.Duration

	// Clock is the wall clock that tokens follow, for simulations. Default: time.Now.
	Clock func() time.Time
	// Random returns the unique value of a try, for simulations. Default: 128 random
	// bits.
	Random func(req locking.Request) string
}

// WithDefaults returns a copy of o whose unset fields hold their defaults.
func (o Options) WithDefaults() Options {
	o.DriftFactor = cmp.Or(o.DriftFactor, DefaultDriftFactor)
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.CleanFor = cmp.Or(o.CleanFor, DefaultCleanFor)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = func(locking.Request) string { return rand.Text() }
	}
	return o
}

// Validate reports everything that is wrong with o, joined. The defaults must be filled
// in.
func (o Options) Validate() error {
	var errs []error
	if o.DriftFactor < 0 || o.DriftFactor >= 0.5 {
		errs = append(errs, fmt.Errorf("drift factor %v: use a share from 0 up to 0.5", o.DriftFactor))
	}
	if o.Keep < 1 {
		errs = append(errs, fmt.Errorf("keep %d: keep at least one record per job", o.Keep))
	}
	if o.CleanFor < 0 {
		errs = append(errs, fmt.Errorf("clean for %v: use a positive duration", o.CleanFor))
	}
	return errors.Join(errs...)
}

// drift is what is taken off a lease of length ttl.
func (o Options) drift(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*o.DriftFactor) + minDrift
}

// check reports mistakes in a request, which no retry can fix.
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
	if req.TTL >= l.set.Grace() {
		errs = append(errs, fmt.Errorf("ttl %v: use less than the restart grace of the nodes, %v: a node that lost its memory votes after that", req.TTL, l.set.Grace()))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bad lock request %q: %w", req.Name, err)
	}
	return nil
}
