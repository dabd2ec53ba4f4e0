package cmd

import (
	"context"
	"errors"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler/redisacts"
	"github.com/quorate/quorate/scheduler/redisledger"
	"github.com/quorate/quorate/scheduler/replica"
)

// A cluster is what listings look at: the nodes themselves, without a replica.
type cluster struct {
	set    *nodes.Set
	ledger *redisledger.Ledger
	acts   *redisacts.Acts
}

// withCluster opens the nodes that the configuration names, which needs only
// its namespace and redis parts, and hands them to fn.
func (a App) withCluster(ctx context.Context, f *flags, fn func(cluster) error) error {
	config, err := replica.ReadCluster(f.source())
	if err != nil {
		return err
	}
	set, err := nodes.Open(config)
	if err != nil {
		return err
	}
	set.Learn(ctx) // requests name the epoch of the list
	return errors.Join(fn(cluster{set: set, ledger: redisledger.New(set), acts: redisacts.New(set)}), set.Close())
}
