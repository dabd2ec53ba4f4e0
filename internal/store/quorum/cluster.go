package quorum

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/internal/store/quorum/acts"
	"github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
)

// A Cluster is the nodes of a configuration and what is kept on them: for listings and
// acts that need no replica.
type Cluster struct {
	Set *membership.Set
	// Ledger is also the roster, and has the sets of jobs that replicas serve.
	Ledger *ledger.Ledger
	Acts   *acts.Acts
	// Unreadable has the records that could not be read.
	Unreadable *unreadable.Log
}

// Open opens what config.ReadCluster has read, without contacting a node. Close
// it at the end.
func Open(cfg membership.Config) (*Cluster, error) {
	set, err := membership.Open(cfg)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	u := new(unreadable.Log)
	c := &Cluster{Set: set, Ledger: ledger.New(set), Acts: acts.New(set), Unreadable: u}
	c.Ledger.Unreadable, c.Acts.Unreadable = u, u
	return c, nil
}

// Close closes the connections.
func (c *Cluster) Close() error { return c.Set.Close() }

// Service implements listing.Owned.
func (c *Cluster) Service(ctx context.Context, name string, replace bool) (string, error) {
	return c.Set.Service(ctx, name, replace)
}

// Holders implements listing.Locks.
func (c *Cluster) Holders(ctx context.Context) ([]locking.Holding, error) {
	return redlock.Holders(ctx, c.Set)
}

// Evict implements listing.Locks.
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	return redlock.Evict(ctx, c.Set, name, token, reason)
}

// ForgetLock implements listing.Locks.
func (c *Cluster) ForgetLock(ctx context.Context, name string) error {
	return redlock.Forget(ctx, c.Set, name)
}
