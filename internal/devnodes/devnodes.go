// Package devnodes starts nodes inside this process: stand-ins for Redis, for
// `quorate dev`, the examples and tests. They listen on loopback only, keep
// nothing when the process ends, and being in one process protect against
// nothing: they are for development only.
package devnodes

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Nodes are embedded nodes.
type Nodes []*miniredis.Miniredis

// Start starts n nodes on free loopback ports, whose keys expire in real time.
// The caller must Close them.
func Start(n int) (Nodes, error) {
	var nodes Nodes
	for range n {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		if err := m.StartAddr("127.0.0.1:0"); err != nil {
			nodes.Close()
			return nil, fmt.Errorf("starting an embedded node: %w", err)
		}
		nodes = append(nodes, m)
	}
	return nodes, nil
}

// URLs returns the nodes' addresses as redis:// URLs.
func (n Nodes) URLs() []string {
	var urls []string
	for _, m := range n {
		urls = append(urls, "redis://"+m.Addr())
	}
	return urls
}

// Close stops the nodes and forgets what they held.
func (n Nodes) Close() {
	for _, m := range n {
		m.Server().Close() // ends connections, which Close would pull the server away from
		m.Close()
	}
}
