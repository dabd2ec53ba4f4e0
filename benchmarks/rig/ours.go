package rig

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// Namespace of everything that is ours.
const Namespace = "bench"

// nodeURLs returns the addresses as a configuration has them. The names stay the
// same whatever the way to the servers, since they say who is a member.
func nodeConfigs(addrs []string) []nodes.NodeConfig {
	var list []nodes.NodeConfig
	for i, addr := range addrs {
		list = append(list, nodes.NodeConfig{Name: fmt.Sprintf("n%d", i+1), URL: "redis://" + addr})
	}
	return list
}

// Ours is Quorate's lock on the servers, with its defaults, as a replica has it.
type Ours struct {
	Set    *nodes.Set
	Locker *redlock.Locker
	stop   func()
}

// Init says that the servers are new.
func (r *Rig) Init(ctx context.Context) error {
	set, err := nodes.Open(nodes.Config{Namespace: Namespace, Nodes: nodeConfigs(r.Addrs())})
	if err != nil {
		return err
	}
	return errors.Join(set.Init(ctx, false), set.Close())
}

// Open opens our lock by way of the addresses.
func Open(ctx context.Context, addrs []string) (*Ours, error) {
	set, err := nodes.Open(nodes.Config{Namespace: Namespace, Nodes: nodeConfigs(addrs)})
	if err != nil {
		return nil, err
	}
	if err := set.Join(ctx); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	locker, err := redlock.New(set, redlock.Config{})
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { _ = set.Run(running) }) // its error is that it was stopped
	return &Ours{Set: set, Locker: locker, stop: func() {
		stop()
		watching.Wait()
	}}, nil
}

// Close ends it.
func (o *Ours) Close() error {
	o.stop()
	return errors.Join(o.Locker.Close(), o.Set.Close())
}
