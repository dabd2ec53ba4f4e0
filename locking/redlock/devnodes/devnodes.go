// Package devnodes starts Redis stand-ins inside this process, for examples, tests, and
// trying things out. They listen on loopback only, and lose their data when the process
// ends. All in one process, they protect against nothing: use them for development
// only.
//
//	embedded, err := devnodes.Start(3)
//	if err != nil {
//		return err
//	}
//	defer embedded.Close()
//	config.Redis.Nodes = … // embedded.URLs()
//
// Clients must allow such nodes: with Options.Embedded of package replica, or
// Config.Embedded of package redlock. Tests of your jobs need none of this: see package
// replicatest.
package devnodes

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Nodes are embedded nodes.
type Nodes struct{ list []*miniredis.Miniredis }

// Start starts n nodes on free loopback ports. The caller must Close them.
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

// Close stops the nodes and discards their data.
func (n *Nodes) Close() {
	for _, m := range n.list {
		m.Server().Close() // ends connections first; Close would remove their server
		m.Close()
	}
}
