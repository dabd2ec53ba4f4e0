// Package quorum is the store of a cluster on its Redis nodes. Replicas use it, and
// commands that look at a cluster or act on it without a replica.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	quorumcommands "github.com/quorate/quorate/internal/store/quorum/commands"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/transfer"
	"github.com/quorate/quorate/internal/store/storecopy"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Cluster is the nodes of a configuration and what is kept on them: for listings and
// commands that need no replica.
type Cluster struct {
	Set *membership.Set
	// Ledger is also the roster, and has the sets of jobs that replicas serve.
	Ledger   *quorumledger.Ledger
	Commands *quorumcommands.Commands
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
	c := &Cluster{Set: set, Ledger: quorumledger.New(set), Commands: quorumcommands.New(set), Unreadable: u}
	c.Ledger.Unreadable, c.Commands.Unreadable = u, u
	return c, nil
}

// Close closes the connections.
func (c *Cluster) Close() error { return c.Set.Close() }

// Service implements view.Owned.
func (c *Cluster) Service(ctx context.Context, name string, replace bool) (string, error) {
	return c.Set.Service(ctx, name, replace)
}

// Holders implements view.Locks.
func (c *Cluster) Holders(ctx context.Context) ([]locking.Holding, error) {
	return redlock.Holders(ctx, c.Set)
}

// Evict implements view.Locks.
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	return redlock.Evict(ctx, c.Set, name, token, reason)
}

// ForgetLock implements view.Locks.
func (c *Cluster) ForgetLock(ctx context.Context, name string) error {
	return redlock.Forget(ctx, c.Set, name)
}

// A side is one side of a copy.
type side struct {
	*Cluster
	namespace string
}

// Side returns the cluster, which is kept in the namespace, as one side of a copy.
func (c *Cluster) Side(namespace string) storecopy.Side {
	return side{&Cluster{Set: c.Set, Ledger: quorumledger.NewSealed(c.Set), Commands: quorumcommands.NewSealed(c.Set)}, namespace}
}

// Name implements [storecopy.Side].
func (s side) Name() string {
	return "namespace " + s.namespace + " on " + strings.Join(s.Set.Names(), ", ")
}

// Memory implements [storecopy.Side].
func (s side) Memory(ctx context.Context) (m storecopy.Memory, err error) {
	marks, err := transfer.ReadMarks(ctx, s.Set)
	if err != nil {
		return m, err
	}
	m = storecopy.Memory{Fence: marks.Fence, Tick: marks.Tick}
	if marks.Since > 0 {
		m.Floor = marks.Since + s.Set.Grace().Milliseconds()
	}
	l, err := redlock.New(s.Set, redlock.Options{})
	if err != nil {
		return m, err
	}
	m.Claims, err = l.Latest(ctx)
	err = errors.Join(err, l.Close())
	for _, h := range m.Claims {
		m.Fence = max(m.Fence, uint64(h.Token))
	}
	return m, err
}

// Begin implements [storecopy.Side].
func (s side) Begin(ctx context.Context) (time.Time, error) {
	now, err := transfer.Begin(ctx, s.Set)
	if errors.Is(err, transfer.ErrServed) {
		err = fmt.Errorf("%w: %w", storecopy.ErrNotEmpty, err)
	}
	return now, err
}

// PutEntries implements [storecopy.Side].
func (s side) PutEntries(ctx context.Context, job string, list []ledger.Entry, trimmed time.Time) error {
	return transfer.Put(ctx, s.Set, quorumledger.Copied(s.Set, job, list, trimmed))
}

// PutCommands implements [storecopy.Side].
func (s side) PutCommands(ctx context.Context, list []commands.Command) error {
	return s.Commands.Copy(ctx, list)
}

// End implements [storecopy.Side].
func (s side) End(ctx context.Context, m storecopy.Memory) error {
	var values []transfer.Value
	streams := ""
	for i, h := range m.Claims {
		values, streams = append(values, transfer.Claim(s.Set, h)), streams+","+h.Stream
		if i+1 == len(m.Claims) || m.Claims[i+1].Name != h.Name {
			values, streams = append(values, transfer.Fence(s.Set, h.Name, m.Fence, streams[1:])), ""
		}
	}
	if err := transfer.Put(ctx, s.Set, values); err != nil {
		return err
	}
	return transfer.End(ctx, s.Set, transfer.Marks{Since: m.Since(s.Set.Grace()), Fence: m.Fence, Tick: m.Tick})
}
