// Package quorum is the store of a cluster on its Redis nodes: package store has the contract.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	quorumcommands "github.com/quorate/quorate/internal/store/quorum/commands"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
)

// A Cluster is the nodes of a cluster and what is kept on them. It is a [store.Cluster].
type Cluster struct {
	Set *membership.Set
	// Ledger is also the roster, and has the sets of jobs that replicas serve.
	Ledger   *quorumledger.Ledger
	Commands *quorumcommands.Commands

	locker     *redlock.Locker
	unreadable *unreadable.Log
	log        *slog.Logger

	formatted atomic.Bool           // a node was formatted while joining
	joining   atomic.Pointer[error] // why joining has not succeeded yet; nil: it has
}

// errNotJoined is why a replica is not ready before it joins.
var errNotJoined = errors.New("joining the nodes")

// Open opens the nodes without contacting one. The cluster logs what a replica should know of it;
// without a log it tells nobody. Close it at the end.
func Open(cfg membership.Config, log *slog.Logger) (*Cluster, error) {
	c := &Cluster{log: log, unreadable: new(unreadable.Log)}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.unreadable.To(c.log)
	c.joining.Store(&errNotJoined)
	tell := cfg.Observer.Formatted
	cfg.Observer.Formatted = func(node string, until time.Time) {
		if c.formatted.Store(true); tell != nil {
			tell(node, until)
		}
	}
	var err error
	if c.Set, err = membership.Open(cfg); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	c.Ledger, c.Commands = quorumledger.New(c.Set), quorumcommands.New(c.Set)
	c.Ledger.Unreadable, c.Commands.Unreadable = c.unreadable, c.unreadable
	if c.locker, err = redlock.New(c.Set, redlock.Options{}); err != nil {
		return nil, errors.Join(err, c.Set.Close())
	}
	return c, nil
}

// Close closes the connections.
func (c *Cluster) Close() error { return errors.Join(c.locker.Close(), c.Set.Close()) }

// Records implements [store.Cluster].
func (c *Cluster) Records() store.Records {
	return store.Records{Ledger: c.Ledger, Roster: c.Ledger, JobSets: c.Ledger, Commands: c.Commands, Unreadable: c.unreadable}
}

// Holders implements [store.Claims].
func (c *Cluster) Holders(ctx context.Context) ([]locking.Holding, error) {
	return redlock.Holders(ctx, c.Set)
}

// Evict implements [store.Claims].
func (c *Cluster) Evict(ctx context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	return redlock.Evict(ctx, c.Set, name, token, reason)
}

// ForgetLock implements [store.Claims].
func (c *Cluster) ForgetLock(ctx context.Context, name string) error {
	return redlock.Forget(ctx, c.Set, name)
}

// OneStore implements [store.Health].
func (c *Cluster) OneStore() bool { return c.Set.OneStore() }

// Inspect implements [store.Health]. Unless a replica has joined, the list may have changed since.
func (c *Cluster) Inspect(ctx context.Context) []health.Node {
	if c.joining.Load() != nil {
		c.Set.LearnEpoch(ctx)
	}
	return c.Set.Inspect(ctx)
}

// Check implements [store.Health].
func (c *Cluster) Check(ctx context.Context) health.Checkup { return c.Set.Check(ctx) }

// Service implements [store.Health].
func (c *Cluster) Service(ctx context.Context, name string, replace bool) (string, error) {
	return c.Set.Service(ctx, name, replace)
}

// Locker implements [store.Membership].
func (c *Cluster) Locker() locking.Locker { return c.locker }

// Join implements [store.Membership]: it tries until a quorum of nodes is there.
func (c *Cluster) Join(ctx context.Context) error {
	began, retried := time.Now(), false
	warning := c.say("no job runs until the store answers; trying again until then", "no job runs until a quorum of nodes answers; trying again until then")
	final := func(err error) bool { return errors.Is(err, locking.ErrRefused) }
	return store.Persist(ctx, c.log, warning, final, func(ctx context.Context) error {
		err := c.Set.Join(ctx)
		if err != nil {
			c.joining.Store(&err)
			retried = true
			return err
		}
		c.joining.Store(nil)
		if retried {
			c.log.Info(c.say("the store answers", "a quorum of nodes answers"), "after", time.Since(began).Round(time.Millisecond))
		}
		at, ok := c.Set.QuorumVotesAt()
		switch {
		case !ok || at.IsZero(): // whoever joins says when it is ready
		case c.formatted.Load():
			c.log.Warn(c.say("new store", "new nodes") + ": no tick runs before " + jobs.FormatTick(at.Round(0)) +
				", since one that lost its memory would look the same; `quorate store init`, run before the first replica starts, says that it is new")
		default:
			c.log.Warn(c.say("the store is new, was restarted, or another server has taken over: no tick runs before ",
				"nodes that are new or restarted do not vouch yet: no tick runs before ") + jobs.FormatTick(at.Round(0)))
		}
		return nil
	})
}

// Watch implements [store.Membership].
func (c *Cluster) Watch(ctx context.Context) { _ = c.Set.Run(ctx) } // its error is that watching ended

// NotReady implements [store.Membership].
func (c *Cluster) NotReady() string {
	if joining := c.joining.Load(); joining != nil {
		return c.say("waiting for the store", "waiting for the nodes") + ": " + store.OneLine(*joining)
	}
	switch at, ok := c.Set.QuorumVotesAt(); {
	case !ok:
		return c.say("the store cannot be used", "no quorum: too few nodes can be used") + ": " + store.OneLine(errors.Join(c.Set.Unusable()...))
	case !at.IsZero():
		return c.say("waiting for the restart grace of the store, which is new, was restarted, or is another server now", "waiting for the restart grace of the nodes") +
			": no tick runs before " + jobs.FormatTick(at.Round(0))
	}
	return ""
}

// LastHour implements [store.Membership].
func (c *Cluster) LastHour(now time.Time) []health.Minute { return c.Set.LastHour(now) }

// ClockOffset implements [store.Membership].
func (c *Cluster) ClockOffset() (time.Duration, bool) { return c.Set.ClockOffset() }

// say chooses the words for the one Redis, or for several nodes.
func (c *Cluster) say(one, several string) string {
	if c.Set.OneStore() {
		return one
	}
	return several
}
