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

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/internal/servertest"
)

// A Server is a PostgreSQL server. Its only user is postgres, without a password, until a
// test makes others.
type Server struct {
	home    servertest.Home
	data    string
	port    string
	process *servertest.Process
}

// Start starts an empty server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{home: servertest.NewHome(t, "postgres"), port: servertest.FreePort(t)}
	s.data = filepath.Join(s.home.Dir, "data")
	s.home.Run(t, program(t, "initdb"), "-D", s.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	s.Restart(t)
	return s
}

// Restart starts the server again after Kill or Crash.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.process = s.home.Serve(t, servertest.Server{
		Bin: program(t, "postgres"),
		Args: []string{
			"-D", s.data, "-h", "127.0.0.1", "-p", s.port, "-k", "", "-F",
			"-c", "max_connections=200", "-c", "full_page_writes=off",
		},
		Ready: "ready to accept", // connections, of a standby: read-only connections
		Stop:  syscall.SIGQUIT,   // at once, and its children with it
	})
}

// Kill ends the server and all its processes with kill -9.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.process.Signal(t, syscall.SIGSTOP) // so that it starts no others, and none in their place
	for _, child := range s.children(t) {
		_ = syscall.Kill(child, syscall.SIGKILL) // it may have ended
	}
	s.process.Signal(t, syscall.SIGKILL)
	s.process.Wait()
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

// Standby starts a copy of s that follows it. Commits at s do not wait for it.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	b := &Server{home: servertest.NewHome(t, "postgres"), port: servertest.FreePort(t)}
	b.data = filepath.Join(b.home.Dir, "data")
	b.home.Run(t, program(t, "pg_basebackup"), "-D", b.data, "-h", "127.0.0.1", "-p", s.port, "-U", "postgres",
		"--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync")
	b.Restart(t)
	return b
}

// AwaitStandby waits until the standbys of s have all that it has committed.
func (s *Server) AwaitStandby(t testing.TB) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	const behind = `SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), replay_lsn)), 1) FROM pg_stat_replication`
	for bytes := 1.0; bytes > 0; {
		if err := c.QueryRow(t.Context(), behind).Scan(&bytes); err != nil {
			t.Fatal(err)
		}
	}
}

// Promote makes a standby a primary, whatever has become of the one that it follows.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.home.Run(t, program(t, "pg_ctl"), "promote", "--wait", "-D", s.data)
}

// Addr is where the server listens.
func (s *Server) Addr() string { return "127.0.0.1:" + s.port }

// URL is that of the database postgres, for its owner.
func (s *Server) URL() string { return URL(s.Addr(), url.User("postgres"), "postgres") }

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
