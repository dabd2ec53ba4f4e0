package rig

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking/redlock"
)

// Namespace of everything that is ours.
const Namespace = "bench"

// nodeURLs returns the addresses as a configuration has them. The names stay the
// same whatever the way to the servers, since they say who is a member.
func nodeConfigs(addrs []string) []membership.NodeConfig {
	var list []membership.NodeConfig
	for i, addr := range addrs {
		list = append(list, membership.NodeConfig{Name: fmt.Sprintf("n%d", i+1), URL: "redis://" + addr})
	}
	return list
}

// Ours is Quorate's lock on the servers, with its defaults, as a replica has it.
type Ours struct {
	Set    *membership.Set
	Locker *redlock.Locker
}

// Init says that the servers are new.
func (r *Rig) Init(ctx context.Context) error {
	set, err := membership.Open(membership.Config{Namespace: Namespace, Nodes: nodeConfigs(r.Addrs())})
	if err != nil {
		return err
	}
	return errors.Join(set.Init(ctx, false), set.Close())
}

// Open opens our lock by way of the addresses.
func Open(ctx context.Context, addrs []string) (*Ours, error) {
	set, err := membership.Open(membership.Config{Namespace: Namespace, Nodes: nodeConfigs(addrs)})
	if err != nil {
		return nil, err
	}
	locker, err := redlock.New(set, redlock.Options{})
	if err == nil {
		err = set.Join(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return &Ours{Set: set, Locker: locker}, nil
}

// Close ends it.
func (o *Ours) Close() error {
	return errors.Join(o.Locker.Close(), o.Set.Close())
}
