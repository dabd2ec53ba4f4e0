package rig

import (
	"context"
	"errors"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking/redlock"
)

// Single starts one Redis with so many replicas, and returns our lock on it and its address.
func (r *Rig) Single(ctx context.Context, replicas int) (*Ours, string, error) {
	master := redistest.Start(r.tb)
	redistest.StartReplicas(r.tb, master, replicas)
	set, err := membership.Open(membership.Config{
		Namespace: Namespace, Nodes: []membership.NodeConfig{{Name: membership.SingleName, URL: master.URL()}}, Copies: replicas,
	})
	if err != nil {
		return nil, "", err
	}
	locker, err := redlock.New(set, redlock.Options{})
	if err == nil {
		err = set.Init(ctx, false)
	}
	if err != nil {
		return nil, "", errors.Join(err, set.Close())
	}
	return &Ours{Set: set, Locker: locker}, master.Addr(), nil
}
