// Package mariadbtest starts MariaDB servers for tests, on loopback. It needs no driver.
package mariadbtest

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/quorate/quorate/dev/testkit/servertest"
)

// A Server is where a server keeps its data, and where it listens. Its only user is root, without a password.
type Server struct {
	Home servertest.Home
	Port string
}

// New returns a place for a server. It removes the place when the test ends.
func New(tb testing.TB) Server {
	tb.Helper()
	return Server{servertest.NewHome(tb, "mysql"), servertest.FreePort(tb)}
}

// Data is the directory that Install fills.
func (s Server) Data() string { return filepath.Join(s.Home.Dir, "data") }

// Addr is where the server listens.
func (s Server) Addr() string { return "127.0.0.1:" + s.Port }

// Install makes the data of an empty server. Servers that are installed at once use the same names for temporary
// files, so each has a directory of its own for them.
func (s Server) Install(tb testing.TB) {
	tb.Helper()
	s.Home.Run(tb, servertest.Program(tb, "mariadb-install-db", "mariadb-server"), "--no-defaults", "--datadir="+s.Data(), "--tmpdir="+s.Home.Dir,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=16M")
}

// Serve starts the server, with settings such as "sync-binlog=0". It ends with the test.
func (s Server) Serve(tb testing.TB, settings ...string) *servertest.Process {
	tb.Helper()
	args := []string{
		"--no-defaults", "--datadir=" + s.Data(), "--tmpdir=" + s.Home.Dir, "--bind-address=127.0.0.1", "--port=" + s.Port,
		"--socket=" + filepath.Join(s.Home.Dir, "s"), "--pid-file=" + filepath.Join(s.Home.Dir, "pid"),
		"--skip-name-resolve", "--max-connections=200", "--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M",
	}
	for _, setting := range settings {
		args = append(args, "--"+setting)
	}
	return s.Home.Serve(tb, servertest.Server{
		Bin: servertest.Program(tb, "mariadbd", "mariadb-server"), Args: args, Ready: "ready for connections", Stop: syscall.SIGKILL,
	})
}

// Query runs statements as root with the program mariadb.
func (s Server) Query(tb testing.TB, statements string) {
	tb.Helper()
	s.Home.Run(tb, servertest.Program(tb, "mariadb", "mariadb-client"), "--no-defaults", "--user=root", "--socket="+filepath.Join(s.Home.Dir, "s"), "--execute="+statements)
}
