package pgtest

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

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
