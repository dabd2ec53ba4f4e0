// Package etcdtest starts etcd clusters for tests, on loopback.
package etcdtest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/dev/testkit/servertest"
)

// A Cluster is some members.
type Cluster struct {
	Members []*Member

	tls       *tls.Config // of clients; nil: they do not encrypt
	divisible bool
}

// A Member is one server.
type Member struct {
	*servertest.Process

	// URL is where clients reach it, Peer where members do.
	URL, Peer string
	// SideURL is where clients reach it that are never cut off.
	SideURL string

	partition
	home servertest.Home
	args []string
}

// Start starts an empty cluster, which ends with the test. The flags are for each member, besides
// its own.
func Start(tb testing.TB, members int, flags ...string) *Cluster {
	tb.Helper()
	return start(tb, members, "http", &Cluster{}, nil, flags...)
}

// JWT returns flags for tokens that a member does not keep, and that end by themselves.
func JWT(tb testing.TB, ttl time.Duration) (flags []string) {
	tb.Helper()
	key := filepath.Join(servertest.NewHome(tb, "etcd").Dir, "jwt")
	if err := os.WriteFile(key, []byte(rand.Text()), 0o644); err != nil { //nolint:gosec // its user has to read it
		tb.Fatal(err)
	}
	return []string{"--auth-token", fmt.Sprintf("jwt,priv-key=%s,sign-method=HS256,ttl=%v", key, ttl)}
}

// StartTLS starts an empty member that clients reach by TLS only. They must show the certificate,
// too.
func StartTLS(tb testing.TB, ca *redistest.CA) *Cluster {
	tb.Helper()
	return start(tb, 1, "https", &Cluster{tls: ca.Config()}, filesOf(ca), "--client-cert-auth")
}

func filesOf(ca *redistest.CA) map[string][]byte {
	return map[string][]byte{"--cert-file": ca.PEM(), "--key-file": ca.KeyPEM(), "--trusted-ca-file": ca.PEM()}
}

// Renew gives the members another certificate, for clients, too. They restart, which ends all
// connections.
func (c *Cluster) Renew(tb testing.TB, ca *redistest.CA) {
	tb.Helper()
	c.tls = ca.Config()
	c.whileStopped(tb, func() {
		for _, m := range c.Members {
			for flag, content := range filesOf(ca) {
				m.write(tb, flag, content)
			}
		}
	})
}

// start starts members whose clients use a scheme. Files are flags with what is in them.
func start(tb testing.TB, members int, scheme string, c *Cluster, files map[string][]byte, flags ...string) *Cluster {
	tb.Helper()
	var peers []string
	for n := range members {
		client, peer := "127.0.0.1:"+servertest.FreePort(tb), "127.0.0.1:"+servertest.FreePort(tb)
		m := &Member{home: servertest.NewHome(tb, "etcd"), SideURL: scheme + "://" + client, args: []string{
			"--listen-client-urls", scheme + "://" + client, "--listen-peer-urls", "http://" + peer,
		}}
		if c.divisible {
			m.partition = newPartition(tb, c, client, peer)
			client, peer = m.clients.Addr(), m.peers.Addr()
		}
		m.URL, m.Peer = scheme+"://"+client, "http://"+peer
		peers = append(peers, fmt.Sprintf("m%d=%s", n, m.Peer))
		c.Members = append(c.Members, m)
	}
	for n, m := range c.Members {
		m.args = append(m.args,
			"--name", fmt.Sprintf("m%d", n), "--data-dir", m.data(), "--logger", "zap", "--log-outputs", "stderr",
			"--advertise-client-urls", m.URL, "--initial-advertise-peer-urls", m.Peer,
			"--initial-cluster", strings.Join(peers, ","), "--initial-cluster-state", "new",
		)
		for flag, content := range files {
			m.args = append(m.args, flag, m.write(tb, flag, content))
		}
		m.args = append(m.args, flags...)
		m.Start(tb)
	}
	c.Await(tb)
	return c
}

// write writes the file of a flag.
func (m *Member) write(tb testing.TB, flag string, content []byte) (path string) {
	tb.Helper()
	path = filepath.Join(m.home.Dir, strings.Trim(flag, "-"))
	if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // its user has to read it
		tb.Fatal(err)
	}
	return path
}

// data is the directory of a member that holds what it has stored.
const data = "data"

func (m *Member) data() string { return filepath.Join(m.home.Dir, data) }

// Start starts the member again after Kill.
func (m *Member) Start(tb testing.TB) {
	tb.Helper()
	m.Process = m.home.Serve(tb, servertest.Server{
		Bin: servertest.Program(tb, "etcd", "etcd-server"), Args: m.args, Ready: "serving peer traffic", Stop: syscall.SIGKILL,
	})
}

// URLs are those of all members.
func (c *Cluster) URLs() (list []string) {
	for _, m := range c.Members {
		list = append(list, m.URL)
	}
	return list
}

// Client returns a client of the members.
func (c *Cluster) Client(tb testing.TB) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.URLs(), TLS: c.tls, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Await waits until the cluster has a leader.
func (c *Cluster) Await(tb testing.TB) {
	tb.Helper()
	client := c.Client(tb)
	for range 300 {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		_, err := client.Get(ctx, "x")
		cancel()
		if err == nil || errors.Is(err, rpctypes.ErrUserEmpty) || errors.Is(err, rpctypes.ErrPermissionDenied) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	tb.Fatal("etcd has no leader after 30 s")
}

// Backup stops the cluster, copies what it has stored, and starts it again. The function
// that it returns stops it and puts the copy back: the cluster has the same identity then.
func (c *Cluster) Backup(tb testing.TB) (restore func()) {
	tb.Helper()
	var homes []servertest.Home
	for _, m := range c.Members {
		homes = append(homes, m.home)
	}
	return servertest.Backup(tb, homes, data, func(do func()) { c.whileStopped(tb, do) })
}

func (c *Cluster) whileStopped(tb testing.TB, do func()) {
	tb.Helper()
	for _, m := range c.Members {
		m.Kill(tb)
	}
	do()
	for _, m := range c.Members {
		m.Start(tb)
	}
	c.Await(tb)
}
