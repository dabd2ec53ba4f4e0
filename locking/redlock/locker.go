package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A Locker grants leases by quorum of a Set of nodes. It may be used by many
// goroutines.
type Locker struct {
	set     *nodes.Set
	cfg     Config
	cleaner *cleaner
	names   *[locking.MostNodes]string // of the nodes
	list    uint32                     // tells them from others
}

var _ locking.Watcher = (*Locker)(nil)

// New returns a Locker over the nodes of set, which must stay open until the
// Locker is closed.
func New(set *nodes.Set, cfg Config) (*Locker, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Locker{set: set, cfg: cfg, cleaner: newCleaner(set.Timeout(), cfg.CleanFor)}
	l.list, l.names = locking.NodeList(set.Names())
	return l, nil
}

// Close stops cleaning up after attempts that were given up, and waits for what
// is under way. Leases stay valid.
func (l *Locker) Close() error {
	l.cleaner.close()
	return nil
}

// TryAcquire implements locking.Locker. It takes a few node timeouts at most,
// whatever the nodes do, and asks none where too few are up. When ctx ends it
// finishes the round it is in, so that it knows what to take back, and begins no
// other. Besides *AcquireError it returns a plain error for a request that no node
// could grant: without a name, or with a TTL that does not fit the nodes.
func (l *Locker) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if err := l.check(req); err != nil {
		return nil, err
	}
	a := newAttempt(l, req)
	if ctx.Err() != nil || a.hopeless() {
		return nil, because(ctx, a.refusal(false))
	}
	if a.direct() {
		return l.claim(ctx, a, time.Now().Add(a.lasts()))
	}
	if !a.acquire(ctx) {
		defer l.cleaner.cleanUp(a, a.abortAt)
		return nil, because(ctx, a.refusal(false))
	}
	if ctx.Err() != nil {
		defer l.cleaner.cleanUp(a, a.abortAt)
		a.abort(ctx)
		return nil, because(ctx, a.refusal(true))
	}
	return l.claim(ctx, a, a.deadline(a.votes))
}

// claim is round 2, the only one of a direct claim. It must be over by valid.
func (l *Locker) claim(ctx context.Context, a *attempt, valid time.Time) (locking.Lease, error) {
	deadline, err := a.commit(ctx, valid)
	if err != nil {
		defer l.cleaner.cleanUp(a, a.voidAt)
		a.void(ctx)
		return nil, because(ctx, err)
	}
	return newLease(l, a, deadline), nil
}

// because joins err with that of ctx, if it has ended.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return errors.Join(err, ctx.Err())
}
