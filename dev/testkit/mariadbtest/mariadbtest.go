// Package mariadbtest starts MariaDB servers for tests, on loopback. It has no client: the module stores/mysql
// replicates, promotes and cuts off such servers.
package mariadbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/quorate/quorate/dev/testkit/servertest"
)

// A Server is a MariaDB server. Its only user is root, without a password, until a test makes
// others. It keeps what it has committed, and logs each commit for replicas, unless a setting says otherwise.
type Server struct {
	*servertest.Process // the last one

	Home     servertest.Home
	Port     string
	Settings []string // such as "sync-binlog=0"

	lives int // how often it was installed
}

// Start starts an empty server, which ends with the test.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s := New(tb, settings...)
	s.Install(tb)
	s.Start(tb)
	return s
}

// New returns a server without data, which does not run.
func New(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	return &Server{Home: servertest.NewHome(tb, "mysql"), Port: servertest.FreePort(tb), Settings: settings}
}

func (s *Server) data() string { return filepath.Join(s.Home.Dir, "data") }

// Install makes an empty server in place of what there was. It has another number: replicas skip what
// they have logged themselves.
func (s *Server) Install(tb testing.TB) {
	tb.Helper()
	s.lives++
	if err := os.RemoveAll(s.data()); err != nil {
		tb.Fatal(err)
	}
	s.Home.Run(tb, servertest.Program(tb, "mariadb-install-db", "mariadb-server"), "--no-defaults", "--datadir="+s.data(), "--tmpdir="+s.Home.Dir, // servers that share one use the same names
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=16M")
}

// Start starts the server, also after Kill, with more settings.
func (s *Server) Start(tb testing.TB, more ...string) {
	tb.Helper()
	args := []string{
		"--no-defaults", "--datadir=" + s.data(), "--tmpdir=" + s.Home.Dir, "--bind-address=127.0.0.1", "--port=" + s.Port, fmt.Sprintf("--server-id=%s%d", s.Port, s.lives),
		"--socket=" + filepath.Join(s.Home.Dir, "s"), "--pid-file=" + filepath.Join(s.Home.Dir, "pid"),
		"--skip-name-resolve", "--max-connections=200", "--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M",
		"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--log-bin=binlog", "--log-slave-updates", "--binlog-format=ROW",
	}
	for _, setting := range slices.Concat(s.Settings, more) {
		args = append(args, "--"+setting)
	}
	s.Process = s.Home.Serve(tb, servertest.Server{
		Bin: servertest.Program(tb, "mariadbd", "mariadb-server"), Args: args, Ready: "ready for connections", Stop: syscall.SIGKILL,
	})
}

// Addr is where the server listens.
func (s *Server) Addr() string { return "127.0.0.1:" + s.Port }

// URL is that of the server for its root.
func (s *Server) URL() string { return "mysql://root@" + s.Addr() + "/" }

// Query runs statements as root with the program mariadb.
func (s *Server) Query(tb testing.TB, statements string) {
	tb.Helper()
	s.Home.Run(tb, servertest.Program(tb, "mariadb", "mariadb-client"), "--no-defaults", "--user=root", "--socket="+filepath.Join(s.Home.Dir, "s"), "--execute="+statements)
}
