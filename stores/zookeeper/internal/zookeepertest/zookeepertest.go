// Package zookeepertest starts ZooKeeper ensembles for tests, on loopback.
package zookeepertest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/dev/testkit/servertest"
)

// jars are those of Debian: ZooKeeper, a log to standard error, and what its list lacks for TLS.
const jars = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar:/usr/share/java/netty-transport-native-unix-common.jar"

// An Ensemble is some members.
type Ensemble struct {
	Members []*Member
}

// A Member is one server.
type Member struct {
	*servertest.Process

	// Addr is where clients reach it, SideAddr where those do that are never cut off.
	Addr, SideAddr string

	quorum, election string // where members reach it
	partition
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	home servertest.Home
	args []string
}

// Options are settings of the servers.
type Options struct {
	// Heap is that of Java in MiB. Default: 96.
	Heap int
	// TLS, if set, makes clients use TLS.
	TLS *redistest.CA
	// Connections are how many a member takes; all clients of a test have one address. 0: any.
	Connections int
	// Divisible: members can be cut off.
	Divisible bool
}

// Start starts an empty ensemble, which ends with the test.
func Start(tb testing.TB, members int, o Options) *Ensemble {
	tb.Helper()
	e := &Ensemble{}
	addr := func() string { return "127.0.0.1:" + servertest.FreePort(tb) }
	for range members {
		m := &Member{home: servertest.NewHome(tb, "zookeeper"), SideAddr: addr(), quorum: addr(), election: addr()}
		m.Addr = m.SideAddr
		e.Members = append(e.Members, m)
	}
	if o.Divisible {
		e.divisible(tb)
	}
	for n, m := range e.Members {
		m.configure(tb, n, e, o)
		m.Start(tb)
	}
	e.Await(tb)
	return e
}

// configure writes the files of a member. A member that does not answer for two seconds is left
// by the others; ZooKeeper's own example says ten.
func (m *Member) configure(tb testing.TB, n int, e *Ensemble, o Options) {
	tb.Helper()
	_, port, err := net.SplitHostPort(m.SideAddr)
	if err != nil {
		tb.Fatal(err)
	}
	lines := []string{
		"dataDir=" + m.data(), "tickTime=200", "initLimit=50", "syncLimit=10",
		fmt.Sprintf("maxClientCnxns=%d", o.Connections),
	}
	if len(e.Members) > 1 {
		for id, other := range e.Members {
			quorum, election := m.reaches(other)
			_, port, _ := net.SplitHostPort(election)
			lines = append(lines, fmt.Sprintf("server.%d=%s:%s", id+1, quorum, port))
		}
	}
	m.args = []string{
		fmt.Sprintf("-Xmx%dm", max(o.Heap, 96)), "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
		"-Dzookeeper.admin.enableServer=false",
	}
	m.dial = new(net.Dialer).DialContext
	if o.TLS == nil {
		lines = append(lines, "clientPortAddress=127.0.0.1", "clientPort="+port)
	} else {
		lines = append(lines, "secureClientPortAddress=127.0.0.1", "secureClientPort="+port, "ssl.clientAuth=need",
			"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
			"ssl.keyStore.type=PEM", "ssl.keyStore.location="+filepath.Join(m.home.Dir, "key.pem"),
			"ssl.trustStore.type=PEM", "ssl.trustStore.location="+filepath.Join(m.home.Dir, "ca.pem"))
		m.certify(tb, o.TLS)
	}
	if err := os.Mkdir(m.data(), 0o755); err != nil { //nolint:gosec // its user has to read it
		tb.Fatal(err)
	}
	m.write(tb, "data/myid", fmt.Sprint(n+1))
	m.home.Own(tb, m.data())
	m.args = append(m.args, "-cp", jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain", m.write(tb, "zoo.cfg", strings.Join(lines, "\n")+"\n"))
}

// certify gives a member its certificate, which clients must show, too.
func (m *Member) certify(tb testing.TB, ca *redistest.CA) {
	tb.Helper()
	m.dial = (&tls.Dialer{Config: ca.Config()}).DialContext
	m.write(tb, "key.pem", string(ca.PEM())+string(pkcs8(tb, ca.KeyPEM())))
	m.write(tb, "ca.pem", string(ca.PEM()))
}

// Renew gives the members another certificate, for clients, too. They restart, which ends all
// connections.
func (e *Ensemble) Renew(tb testing.TB, ca *redistest.CA) {
	tb.Helper()
	e.whileStopped(tb, func() {
		for _, m := range e.Members {
			m.certify(tb, ca)
		}
	})
}

// pkcs8 returns a key in the form that Java reads.
func pkcs8(tb testing.TB, key []byte) []byte {
	tb.Helper()
	block, _ := pem.Decode(key)
	parsed, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(parsed)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// data is the directory of a member that holds what it has stored.
const data = "data"

func (m *Member) data() string { return filepath.Join(m.home.Dir, data) }

func (m *Member) write(tb testing.TB, name, content string) (path string) {
	tb.Helper()
	path = filepath.Join(m.home.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // its user has to read it
		tb.Fatal(err)
	}
	return path
}

// Start starts the member again after Kill.
func (m *Member) Start(tb testing.TB) {
	tb.Helper()
	if _, err := os.Stat(strings.Split(jars, ":")[0]); err != nil {
		tb.Fatalf("this test needs ZooKeeper: apt-get install zookeeper: %v", err)
	}
	m.Process = m.home.Serve(tb, servertest.Server{
		Bin: servertest.Program(tb, "java", "zookeeper"), Args: m.args, Ready: "binding to port", Stop: syscall.SIGKILL,
	})
}

// Servers are the addresses of all members.
func (e *Ensemble) Servers() (list []string) {
	for _, m := range e.Members {
		list = append(list, m.Addr)
	}
	return list
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// Client returns a client of the members.
func (e *Ensemble) Client(tb testing.TB) *zk.Conn {
	tb.Helper()
	c, _, err := zk.Connect(e.Servers(), 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// Await waits until all members serve clients.
func (e *Ensemble) Await(tb testing.TB) {
	tb.Helper()
	for _, m := range e.Members {
		for tries := 0; m.Mode(tb) == ""; tries++ {
			if tries == 300 {
				tb.Fatal("ZooKeeper does not serve clients after 30 s")
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// Mode asks the member what it is: leader, follower or standalone; or nothing, if it serves no
// clients.
func (m *Member) Mode(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
	defer cancel()
	c, err := m.dial(ctx, "tcp", m.SideAddr)
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(c, "srvr")
	text, _ := io.ReadAll(c)
	_, mode, _ := strings.Cut(string(text), "Mode: ")
	mode, _, _ = strings.Cut(mode, "\n")
	return mode
}

// Backup stops the ensemble, copies what it has stored, and starts it again. The function that
// it returns stops it and puts the copy back.
func (e *Ensemble) Backup(tb testing.TB) (restore func()) {
	tb.Helper()
	var homes []servertest.Home
	for _, m := range e.Members {
		homes = append(homes, m.home)
	}
	return servertest.Backup(tb, homes, data, func(do func()) { e.whileStopped(tb, do) })
}

func (e *Ensemble) whileStopped(tb testing.TB, do func()) {
	tb.Helper()
	for _, m := range e.Members {
		m.Kill(tb)
	}
	do()
	for _, m := range e.Members {
		m.Start(tb)
	}
	e.Await(tb)
}
