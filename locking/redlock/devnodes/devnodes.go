// Package devnodes starts nodes inside this process: stand-ins for Redis, for
// examples, tests, and trying things out. They listen on loopback only, keep
// nothing when the process ends, and being in one process protect against
// nothing: they are for development only.
//
//	embedded, err := devnodes.Start(3)
//	if err != nil {
//		return err
//	}
//	defer embedded.Close()
//	config.Redis.Nodes = … // embedded.URLs()
//
// Clients must allow such nodes: with Options.Embedded of package replica, or
// Config.Embedded of package nodes. Tests of your jobs need none of this: see
// package replicatest.
package devnodes

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Nodes are embedded nodes.
type Nodes struct{ list []*miniredis.Miniredis }

// Start starts n nodes on free loopback ports, whose keys expire in real time.
// The caller must Close them.
func Start(n int) (*Nodes, error) {
	nodes := &Nodes{}
	for range n {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		if err := m.StartAddr("127.0.0.1:0"); err != nil {
			nodes.Close()
			return nil, fmt.Errorf("starting an embedded node: %w", err)
		}
		nodes.list = append(nodes.list, m)
	}
	return nodes, nil
}

// URLs returns the nodes' addresses as redis:// URLs.
func (n *Nodes) URLs() []string {
	var urls []string
	for _, m := range n.list {
		urls = append(urls, "redis://"+m.Addr())
	}
	return urls
}

// Close stops the nodes and forgets what they held.
func (n *Nodes) Close() {
	for _, m := range n.list {
		m.Server().Close() // ends connections, which Close would pull the server away from
		m.Close()
	}
}
