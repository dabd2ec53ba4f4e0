package main

import (
	"context"
	"strings"
	"testing"

	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
)

// The program is valid, and drains when it is told to, also while it waits for nodes.
func TestMinimal(t *testing.T) {
	t.Parallel()
	nodes, err := devnodes.Start(3)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	r, err := newReplica(replica.Config{Redis: settings.Redis{Nodes: settings.Nodes(nodes.URLs()...)}, Embedded: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := newReplica(replica.Config{}); err == nil || !strings.Contains(err.Error(), "redis.nodes: no nodes are listed") {
		t.Errorf("without nodes: %v", err)
	}
}
