// Package pgtest starts PostgreSQL servers, standbys and PgBouncer for tests, on loopback.
package pgtest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/quorate/quorate/internal/testkit/servertest"
)

// A Server is a PostgreSQL server. Its only user is postgres, without a password, until a
// test makes others.
type Server struct {
	home     servertest.Home
	data     string
	port     string
	settings []string
	process  *servertest.Process
}

// Start starts an empty server, which ends with the test. Settings, such as "fsync=on", are
// also those of its standbys.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := newServer(t, settings)
	s.home.Run(t, program(t, "initdb"), "-D", s.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	s.Restart(t)
	return s
}

func newServer(t testing.TB, settings []string) *Server {
	t.Helper()
	s := &Server{home: servertest.NewHome(t, "postgres"), port: servertest.FreePort(t), settings: settings}
	s.data = filepath.Join(s.home.Dir, "data")
	return s
}

// Restart starts the server again after Kill.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	args := []string{
		"-D", s.data, "-h", "127.0.0.1", "-p", s.port, "-k", "", "-F",
		"-c", "max_connections=200", "-c", "full_page_writes=off",
	}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	s.process = s.home.Serve(t, servertest.Server{
		Bin: program(t, "postgres"), Args: args,
		Ready: "ready to accept", // connections, of a standby: read-only connections
		Stop:  syscall.SIGQUIT,   // at once, and its children with it
	})
}

// Kill ends the server and all its processes with kill -9.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.process.Signal(t, syscall.SIGSTOP) // so that it starts no others, and none in their place
	s.signalChildren(t, syscall.SIGKILL)
	s.process.Signal(t, syscall.SIGKILL)
	s.process.Wait()
}

// Freeze stops the server and all its processes until Thaw or Kill.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.process.Signal(t, syscall.SIGSTOP)
	s.signalChildren(t, syscall.SIGSTOP)
}

// Thaw lets a frozen server continue.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	s.signalChildren(t, syscall.SIGCONT)
	s.process.Signal(t, syscall.SIGCONT)
}

func (s *Server) signalChildren(t testing.TB, signal syscall.Signal) {
	t.Helper()
	for _, child := range s.children(t) {
		_ = syscall.Kill(child, signal) // it may have ended
	}
}

// children are the processes of the server beside the first.
func (s *Server) children(t testing.TB) (list []int) {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.process.PID())) // the pattern is a good one
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// Addr is where the server listens.
func (s *Server) Addr() string { return "127.0.0.1:" + s.port }

// URL is that of the database postgres, for its owner.
func (s *Server) URL() string { return URL(s.Addr(), url.User("postgres"), "postgres") }

// URLOfDatabase is that of another database, for the owner of the server.
func (s *Server) URLOfDatabase(name string) string { return URL(s.Addr(), url.User("postgres"), name) }

// Psql runs a script with psql, which stops at the first error.
func (s *Server) Psql(t testing.TB, url, script string) {
	t.Helper()
	file := filepath.Join(s.home.Dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil { //nolint:gosec // its user has to read it
		t.Fatal(err)
	}
	s.home.Run(t, program(t, "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, url)
}

// URL is that of a database at an address, without encryption.
func URL(addr string, user *url.Userinfo, database string) string {
	u := url.URL{Scheme: "postgres", User: user, Host: addr, Path: database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Bouncer starts PgBouncer in transaction mode before s, and returns the URL for it. Several
// clients share few connections, so that state of a session would show.
func (s *Server) Bouncer(t testing.TB) string {
	t.Helper()
	home, port := servertest.NewHome(t, "postgres"), servertest.FreePort(t)
	config := filepath.Join(home.Dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = user=postgres host=127.0.0.1 port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
server_fast_close = 1
`, s.port, port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil { //nolint:gosec // its user has to read it
		t.Fatal(err)
	}
	home.Serve(t, servertest.Server{
		Bin: servertest.Program(t, "pgbouncer", "pgbouncer"), Args: []string{config},
		Ready: "process up", Stop: syscall.SIGTERM,
	})
	return URL("127.0.0.1:"+port, url.User("postgres"), "postgres")
}

func program(t testing.TB, name string) string { return servertest.Program(t, name, "postgresql") }
