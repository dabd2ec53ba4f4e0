package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/internal/cells"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redisacts"
	"github.com/quorate/quorate/internal/redisledger"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
)

// A Cluster is the nodes of a configuration, in one group or in several cells,
// and what is kept on them: for listings and acts that need no replica.
type Cluster struct {
	// Sets are the groups of nodes, those of cells in the order of their names.
	Sets   []*members.Set
	Ledger cells.Store
	Roster scheduler.Roster
	Acts   acts.Store
	// JobSets are those that replicas serve.
	JobSets scheduler.JobSets

	Layout cells.Layout // empty: there is one group
}

// Open opens what config.ReadCluster has read, without contacting a node. Close
// it at the end.
func Open(list []members.Config) (*Cluster, error) {
	sets, err := members.OpenCells(list)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	c := &Cluster{Sets: sets}
	if len(sets) == 1 {
		ledger := redisledger.New(sets[0])
		c.Ledger, c.Roster, c.JobSets, c.Acts = ledger, ledger, ledger, redisacts.New(sets[0])
		return c, nil
	}
	for _, s := range sets {
		c.Layout = append(c.Layout, s.Cell())
	}
	ledger, roster, acts := &cells.Ledger{Layout: c.Layout}, &cells.Roster{Layout: c.Layout}, []acts.Store{}
	written := &cells.JobSets{Layout: c.Layout}
	for _, s := range sets {
		kept := redisledger.New(s)
		ledger.Cells, roster.Cells, acts = append(ledger.Cells, kept), append(roster.Cells, kept), append(acts, redisacts.New(s))
		written.Cells = append(written.Cells, kept)
	}
	c.Ledger, c.Roster, c.JobSets, c.Acts = ledger, roster, written, cells.NewActs(c.Layout, acts)
	return c, nil
}

// Of returns the nodes that decide on a name: the key of a job, or a plain lock.
func (c *Cluster) Of(name string) *members.Set {
	if len(c.Sets) == 1 {
		return c.Sets[0]
	}
	return c.Sets[c.Layout.Of(name)]
}

// Learn finds out which epochs the lists of nodes have, for who has not joined.
func (c *Cluster) Learn(ctx context.Context) {
	for _, s := range c.Sets {
		s.Learn(ctx)
	}
}

// Close closes the connections.
func (c *Cluster) Close() error {
	var errs []error
	for _, s := range c.Sets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Evict takes the lock of a job, or a plain one, from its holder; see redlock.Evict.
// The error is listing.ErrNotFound if nobody holds it.
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	h, err := redlock.Evict(ctx, c.Of(name), name, token, reason)
	if errors.Is(err, locking.ErrNotHeld) {
		err = fmt.Errorf("%w: %w; quorate locks lists what is held", listing.ErrNotFound, err)
	}
	return h, err
}

// Forget drops what the nodes keep of a job, with the slots of its backfills, or of
// a plain lock; see redlock.Forget.
func (c *Cluster) Forget(ctx context.Context, key string) error {
	err := redlock.Forget(ctx, c.Of(key), key)
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
			if err := redlock.Forget(ctx, c.Of(name), name); !errors.Is(err, locking.ErrUnknownName) {
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
