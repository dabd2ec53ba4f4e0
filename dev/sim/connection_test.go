package sim_test

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/internal/retry"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single"
	storeclaims "github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A connection is that of a process to the nodes, or to one store.
type connection struct {
	locker     locking.Watcher
	ledger     ledger.Store
	roster     roster.Roster
	declareNew func(context.Context) error
	join       func(context.Context) error
	watch      func(context.Context) // until the context ends
	close      func() error
}

// A random is the unique value of a try.
type random func(locking.Request) string

// A backend connects a process to what the replicas of a world share.
type backend func(p *sim.Process, leases time.Duration, value random) (connection, error)

// atNodes connects to the nodes with the given numbers.
func atNodes(list []int) backend {
	return func(p *sim.Process, leases time.Duration, value random) (connection, error) {
		return toNodes(nodesOf(p, leases, list), p, value)
	}
}

func toNodes(cfg membership.Config, p *sim.Process, value random) (connection, error) {
	set, err := membership.Open(cfg)
	if err != nil {
		return connection{}, err
	}
	locker, err := redlock.New(set, redlock.Options{Clock: p.Wall, Random: value, CleanFor: 2 * grace})
	if err != nil {
		return connection{}, err
	}
	entries := quorumledger.New(set)
	return connection{
		locker: locker, ledger: entries, roster: entries, join: set.Join,
		declareNew: func(ctx context.Context) error { return set.Init(ctx, false) },
		watch:      func(ctx context.Context) { _ = set.Run(ctx) },
		close:      func() error { return errors.Join(locker.Close(), set.Close()) },
	}, nil
}

// nodesOf is what a process needs to know of the nodes.
func nodesOf(p *sim.Process, leases time.Duration, list []int) membership.Config {
	cfg := membership.Config{Timeout: timeout, Grace: grace, TTL: leases, CheckEvery: grace / 2, Transport: transport{p}}
	for _, i := range list {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{Name: name(i), URL: "redis://" + name(i) + ":6379"})
	}
	return cfg
}

// atStore connects to one store, on the only machine.
func atStore(client func(*sim.Process) kv.Server) backend {
	return func(p *sim.Process, leases time.Duration, value random) (connection, error) {
		return toStore(client(p), leases, value)
	}
}

func toStore(server kv.Server, leases time.Duration, value random) (connection, error) {
	c, err := single.Open(server, storeclaims.Config{TTL: leases, Grace: grace, Timeout: timeout, CleanFor: 2 * grace, Random: value}, nil)
	if err != nil {
		return connection{}, err
	}
	return connection{
		locker: c.Claims, ledger: c.Ledger, roster: c.Roster, declareNew: c.DeclareNew, join: c.NoteIncarnation, close: c.Close,
		watch: func(ctx context.Context) {
			for retry.Sleep(ctx, grace/2) {
				_ = c.NoteIncarnation(ctx)
			}
		},
	}, nil
}
