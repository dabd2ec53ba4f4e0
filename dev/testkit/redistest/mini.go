package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// Minis are embedded nodes without sockets, whose keys expire as time passes.
// Made inside a synctest bubble, they live by its clock.
type Minis struct {
	nodes []*miniredis.Miniredis

	mu   sync.Mutex
	down map[int]bool
}

// MiniN makes n embedded nodes that end with the test. Within a bubble call
// Close before the bubble's function returns.
func MiniN(t testing.TB, n int) *Minis {
	t.Helper()
	m := &Minis{down: map[int]bool{}}
	for range n {
		node := miniredis.NewMiniRedis()
		node.ClockTTL(true)
		m.nodes = append(m.nodes, node)
	}
	t.Cleanup(m.Close)
	return m
}

// Node returns the i-th node, counted from 0.
func (m *Minis) Node(i int) *miniredis.Miniredis { return m.nodes[i] }

// URLs returns URLs that only Dial understands.
func (m *Minis) URLs() []string {
	var urls []string
	for i := range m.nodes {
		urls = append(urls, "redis://"+miniAddr(i))
	}
	return urls
}

func miniAddr(i int) string { return fmt.Sprintf("node-%d:6379", i+1) }

// Dial connects to the node that one of the URLs names.
func (m *Minis) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	for i, node := range m.nodes {
		if miniAddr(i) != addr {
			continue
		}
		// One step, or Stop would wait forever for a connection that it has not cut.
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.down[i] {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		}
		return node.Dial()
	}
	return nil, fmt.Errorf("no embedded node has the address %s", addr)
}

// Stop cuts the node's connections and refuses new ones.
func (m *Minis) Stop(i int) {
	m.mu.Lock()
	m.down[i] = true
	m.mu.Unlock()
	// Miniredis forgets its server before the connections have ended, while
	// INFO may still look for it. So these end first.
	m.nodes[i].Lock()
	server := m.nodes[i].Server()
	m.nodes[i].Unlock()
	if server != nil {
		server.Close()
	}
	m.nodes[i].Close()
}

// Start lets a stopped node answer again: with its data, or blank.
func (m *Minis) Start(i int, keep bool) {
	if !keep {
		m.nodes[i].FlushAll()
	}
	m.mu.Lock()
	delete(m.down, i)
	m.mu.Unlock()
}

// Close ends all nodes.
func (m *Minis) Close() {
	for i := range m.nodes {
		m.Stop(i)
	}
}
