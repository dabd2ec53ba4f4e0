package etcdtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/dev/testkit/proxytest"
)

// A partition is what stands before a member, to cut it off.
type partition struct {
	cluster        *Cluster
	clients, peers *proxytest.Proxy
	sign           string // that requests of this member have
	cut            bool
}

func newPartition(tb testing.TB, c *Cluster, client, peer string) partition {
	tb.Helper()
	return partition{cluster: c, clients: proxytest.New(tb, client), peers: proxytest.New(tb, peer)}
}

// StartDivisible starts an empty cluster whose members can be cut off.
func StartDivisible(tb testing.TB, members int) *Cluster {
	tb.Helper()
	c := start(tb, members, "http", &Cluster{divisible: true}, nil)
	list, err := c.Client(tb).MemberList(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, known := range list.Members {
		for n, m := range c.Members {
			if known.Name == fmt.Sprintf("m%d", n) {
				m.sign = fmt.Sprintf("X-Server-From: %x\r\n", known.ID)
			}
		}
	}
	return c
}

// Cut drops what passes between the member and others, and what passes between it and clients
// unless they stay. Who uses its SideURL stays.
func (m *Member) Cut(_ testing.TB, clientsStay bool) {
	m.cut = true
	if !clientsStay {
		m.clients.BlackHole()
	}
	m.cluster.divide()
}

// Heal lets all pass again.
func (m *Member) Heal(testing.TB) {
	m.cut = false
	m.clients.Pass()
	m.clients.Break() // messages on open connections were lost
	m.cluster.divide()
}

// divide swallows what passes between members of which one is cut off. Connections begin anew:
// of an open one the proxy does not know whose it is.
func (c *Cluster) divide() {
	for _, to := range c.Members {
		var away []string
		for _, from := range c.Members {
			if from.cut || to.cut {
				away = append(away, from.sign)
			}
		}
		to.peers.Swallow(away...)
		to.peers.Break()
	}
}

// Leader is the place of the member that leads.
func (c *Cluster) Leader(tb testing.TB) int {
	tb.Helper()
	client := c.Client(tb)
	for range 300 {
		for n, m := range c.Members {
			if m.leads(tb.Context(), client) {
				return n
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	tb.Fatal("etcd has no leader after 30 s")
	return 0
}

func (m *Member) leads(ctx context.Context, client *clientv3.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := client.Status(ctx, m.SideURL)
	return err == nil && status.Leader == status.Header.MemberId
}

// SideURLs are those of all members.
func (c *Cluster) SideURLs() (list []string) {
	for _, m := range c.Members {
		list = append(list, m.SideURL)
	}
	return list
}
