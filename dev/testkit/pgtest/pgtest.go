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
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/servertest"
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

// Used is the processor time that the server and its processes have used so far.
func (s *Server) Used(t testing.TB) time.Duration {
	t.Helper()
	const perSecond = 100 // the ticks of /proc on every architecture that Go has
	ticks := 0
	for i, pid := range append([]int{s.process.PID()}, s.children(t)...) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended, so the first process has its time
		}
		fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:]) // from the third on
		own := fields[11:13]
		if i == 0 {
			own = fields[11:15] // with that of processes that have ended
		}
		for _, field := range own {
			n, _ := strconv.Atoi(field) // the kernel writes numbers
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / perSecond
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

// Standby starts a copy of s that follows it. Commits at s do not wait for it, unless a
// setting says so.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	b := newServer(t, s.settings)
	b.Follow(t, s)
	return b
}

// Follow makes a server that has ended a standby of another, at its old address. It forgets
// what it had.
func (s *Server) Follow(t testing.TB, primary *Server) {
	t.Helper()
	if err := os.RemoveAll(s.data); err != nil {
		t.Fatal(err)
	}
	s.home.Run(t, program(t, "pg_basebackup"), "-D", s.data, "-h", "127.0.0.1", "-p", primary.port, "-U", "postgres",
		"--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync")
	s.Restart(t)
}

// AwaitStandby waits until the standbys of s have all that it has committed.
func (s *Server) AwaitStandby(t testing.TB) {
	t.Helper()
	c := s.connect(t)
	defer func() { _ = c.Close(t.Context()) }()
	const behind = `SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), replay_lsn)), 1) FROM pg_stat_replication`
	for bytes := 1.0; bytes > 0; {
		if err := c.QueryRow(t.Context(), behind).Scan(&bytes); err != nil {
			t.Fatal(err)
		}
	}
}

// CutOff makes a standby receive nothing more from its primary.
func (s *Server) CutOff(t testing.TB) {
	t.Helper()
	c := s.connect(t)
	defer func() { _ = c.Close(t.Context()) }()
	for _, statement := range []string{`ALTER SYSTEM SET primary_conninfo = ''`, `SELECT pg_reload_conf()`} {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for receivers := 1; receivers > 0; {
		if err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_wal_receiver`).Scan(&receivers); err != nil {
			t.Fatal(err)
		}
	}
}

// Promote makes a standby a primary, whatever has become of the one that it follows. It
// returns when the last transaction that it has was committed.
func (s *Server) Promote(t testing.TB) (last time.Time) {
	t.Helper()
	s.home.Run(t, program(t, "pg_ctl"), "promote", "--wait", "-D", s.data)
	c := s.connect(t)
	defer func() { _ = c.Close(t.Context()) }()
	if err := c.QueryRow(t.Context(), `SELECT coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())`).Scan(&last); err != nil {
		t.Fatal(err)
	}
	return last
}

func (s *Server) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// URLOf is the URL for several servers, of which the one that writes is to be used.
func URLOf(servers ...*Server) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = s.Addr()
	}
	return URL(strings.Join(hosts, ","), url.User("postgres"), "postgres")
}

// Secure makes the server speak TLS with a certificate that is also that of the clients which it
// trusts, and ends no connection. Every role but postgres needs TLS with such a certificate, and a
// password.
func (s *Server) Secure(t testing.TB, cert, key []byte) {
	t.Helper()
	for name, text := range map[string][]byte{
		"server.crt": cert, "root.crt": cert, "server.key": key,
		"pg_hba.conf": []byte("host all postgres 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n"),
	} {
		if err := os.WriteFile(filepath.Join(s.data, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.home.Own(t, s.data)
	c := s.connect(t)
	defer func() { _ = c.Close(t.Context()) }()
	for _, statement := range []string{`ALTER SYSTEM SET ssl_ca_file = 'root.crt'`, `ALTER SYSTEM SET ssl = on`, `SELECT pg_reload_conf()`} {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// Odd is the SQL that gives a role or a database, such as "ROLE app", settings that change what
// statements mean or return.
func Odd(of string) string {
	var all strings.Builder
	for _, setting := range []string{
		`DateStyle = 'German, DMY'`, `IntervalStyle = 'sql_standard'`, `TimeZone = 'Asia/Kathmandu'`, `bytea_output = 'escape'`,
		`extra_float_digits = -15`, `search_path = odd, pg_catalog`, `session_replication_role = 'replica'`, `row_security = off`,
		`standard_conforming_strings = off`, `escape_string_warning = off`, `backslash_quote = on`, `array_nulls = off`,
		`transform_null_equals = on`, `quote_all_identifiers = on`, `plan_cache_mode = 'force_custom_plan'`, `enable_indexscan = off`,
		`default_transaction_deferrable = on`, `check_function_bodies = off`, `client_min_messages = 'debug1'`, `synchronous_commit = off`,
		`quorate.system_identifier = '1'`, `work_mem = 64`, `temp_file_limit = 0`, `enable_bitmapscan = off`, `enable_indexonlyscan = off`,
		`enable_sort = off`, `enable_nestloop = off`, `enable_hashjoin = off`, `enable_mergejoin = off`, `jit_above_cost = 0`,
		`jit_inline_above_cost = 0`, `jit_optimize_above_cost = 0`, `geqo_threshold = 2`, `join_collapse_limit = 1`, `xmlbinary = 'hex'`,
		`idle_session_timeout = '5s'`, `exit_on_error = on`, `log_statement = 'all'`,
	} {
		all.WriteString("ALTER " + of + " SET " + setting + ";\n")
	}
	return all.String()
}

// OddFunctions is the SQL that makes functions which are found in place of those of PostgreSQL, with
// the settings of Odd, if statements do not name their schema.
const OddFunctions = `CREATE SCHEMA odd;
GRANT USAGE ON SCHEMA odd TO PUBLIC;
CREATE FUNCTION odd.regexp_replace(text, text, text, text) RETURNS text LANGUAGE sql AS 'SELECT $$odd$$';
CREATE FUNCTION odd.current_setting(text) RETURNS text LANGUAGE sql AS 'SELECT $$odd$$';
CREATE FUNCTION odd.hashtextextended(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1/0';
CREATE FUNCTION odd.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT $$epoch$$::timestamptz';
`
