package claims

import (
	"context"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
)

// A Locker grants leases on a store. It may be used by many goroutines.
type Locker struct {
	store kv.Store
	cfg   Config
	// cleaner voids claims that may have been made, or may still be made, by tries that have
	// given up. Until then such a claim may block a tick that no one runs.
	cleaner *retry.Background
	voids   chan struct{} // the calls that the cleaner makes at a time
	seen    observer
}

var _ locking.Watcher = (*Locker)(nil)

// New returns a Locker on a store, which must stay open until the Locker is closed.
func New(s kv.Store, cfg Config) (*Locker, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
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
