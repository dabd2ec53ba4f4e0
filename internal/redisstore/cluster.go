package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redisacts"
	"github.com/quorate/quorate/internal/redisledger"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
)

// A Cluster is the nodes of a configuration and what is kept on them: for listings and
// acts that need no replica.
type Cluster struct {
	Set *members.Set
	// Ledger is also the roster, and has the sets of jobs that replicas serve.
	Ledger *redisledger.Ledger
	Acts   *redisacts.Acts
}

// Open opens what config.ReadCluster has read, without contacting a node. Close
// it at the end.
func Open(cfg members.Config) (*Cluster, error) {
	set, err := members.Open(cfg)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	return &Cluster{Set: set, Ledger: redisledger.New(set), Acts: redisacts.New(set)}, nil
}

// Close closes the connections.
func (c *Cluster) Close() error { return c.Set.Close() }

// Evict takes the lock of a job, or a plain one, from its holder; see redlock.Evict.
// The error is listing.ErrNotFound if nobody holds it.
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	h, err := redlock.Evict(ctx, c.Set, name, token, reason)
	if errors.Is(err, locking.ErrNotHeld) {
		err = fmt.Errorf("%w: %w; quorate locks lists what is held", listing.ErrNotFound, err)
	}
	return h, err
}

// Forget drops what the nodes keep of a job, with the slots of its backfills, or of
// a plain lock; see redlock.Forget.
func (c *Cluster) Forget(ctx context.Context, key string) error {
	err := redlock.Forget(ctx, c.Set, key)
	if err != nil && !errors.Is(err, locking.ErrUnknownName) {
		return err
	}
	if err := c.forgetSlots(ctx, key); err != nil {
		return err
	}
	return err
}

// forgetSlots asks for all of them at once, so that they share requests.
func (c *Cluster) forgetSlots(ctx context.Context, key string) error {
	names := scheduler.BackfillSlots(key)
	errs := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() {
			if err := redlock.Forget(ctx, c.Set, name); !errors.Is(err, locking.ErrUnknownName) {
				errs[i] = err
			}
		})
	}
	asking.Wait()
	return errors.Join(errs...)
}

// ForgetJob drops what the nodes keep of a job that was removed, if anything.
func (c *Cluster) ForgetJob(ctx context.Context, key string) error {
	if err := c.Forget(ctx, key); !errors.Is(err, locking.ErrUnknownName) {
		return err
	}
	return nil
}
