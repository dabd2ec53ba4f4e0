package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/cells"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/redisacts"
	"github.com/quorate/quorate/scheduler/redisledger"
)

// A Cluster is the nodes of a configuration, in one group or in several cells,
// and what is kept on them: for listings and acts that need no replica.
type Cluster struct {
	// Sets are the groups of nodes, those of cells in the order of their names.
	Sets   []*nodes.Set
	Ledger cells.Store
	Roster scheduler.Roster
	Acts   scheduler.Acts
	// JobSets are those that replicas serve.
	JobSets scheduler.JobSets

	layout cells.Layout // empty: there is one group
}

// OpenCluster opens what ReadCluster has read, without contacting a node. Close
// it at the end.
func OpenCluster(list []nodes.Config) (*Cluster, error) {
	sets, err := nodes.OpenCells(list)
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
		c.layout = append(c.layout, s.Cell())
	}
	ledger, roster, acts := &cells.Ledger{Layout: c.layout}, &cells.Roster{Layout: c.layout}, []scheduler.Acts{}
	written := &cells.JobSets{Layout: c.layout}
	for _, s := range sets {
		kept := redisledger.New(s)
		ledger.Cells, roster.Cells, acts = append(ledger.Cells, kept), append(roster.Cells, kept), append(acts, redisacts.New(s))
		written.Cells = append(written.Cells, kept)
	}
	c.Ledger, c.Roster, c.JobSets, c.Acts = ledger, roster, written, cells.NewActs(c.layout, acts)
	return c, nil
}

// Of returns the nodes that decide on a name: the key of a job, or a plain lock.
func (c *Cluster) Of(name string) *nodes.Set {
	if len(c.Sets) == 1 {
		return c.Sets[0]
	}
	return c.Sets[c.layout.Of(name)]
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
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (redlock.Holding, error) {
	h, err := redlock.Evict(ctx, c.Of(name), name, token, reason)
	if errors.Is(err, redlock.ErrNotHeld) {
		err = fmt.Errorf("%w: %w; quorate locks lists what is held", listing.ErrNotFound, err)
	}
	return h, err
}

// Forget drops what the nodes keep of a job, with the slots of its backfills, or of
// a plain lock; see redlock.Forget.
func (c *Cluster) Forget(ctx context.Context, key string) error {
	err := redlock.Forget(ctx, c.Of(key), key)
	if err != nil && !errors.Is(err, redlock.ErrUnknownName) {
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
			if err := redlock.Forget(ctx, c.Of(name), name); !errors.Is(err, redlock.ErrUnknownName) {
				errs[i] = err
			}
		})
	}
	asking.Wait()
	return errors.Join(errs...)
}

// forget drops what the nodes keep of a job that was removed, if anything.
func (c *Cluster) forget(ctx context.Context, key string) error {
	if err := c.Forget(ctx, key); !errors.Is(err, redlock.ErrUnknownName) {
		return err
	}
	return nil
}
