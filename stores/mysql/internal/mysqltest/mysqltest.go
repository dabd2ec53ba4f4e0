// Package mysqltest starts MariaDB servers and their replicas for tests, on loopback.
package mysqltest

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/dev/testkit/mariadbtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/dev/testkit/servertest"
)

// A Server is a MariaDB server. Its only user is root, without a password, until a test makes
// others. It keeps what it has committed, and logs each commit for replicas.
type Server struct {
	*servertest.Process

	at       mariadbtest.Server
	lives    int // how often it was installed
	settings []string
	files    []string // settings with the files of TLS
	front    *proxytest.Proxy
}

// Start starts an empty server, which ends with the test. Settings, such as "sync-binlog=0", are also
// those of its replicas.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s := &Server{at: mariadbtest.New(tb), settings: settings}
	s.front = proxytest.New(tb, s.SideAddr())
	s.install(tb)
	s.Start(tb)
	s.awaitReplicas(tb, false)
	return s
}

// install makes an empty server in place of what there was. It has another number: replicas skip what
// they have logged themselves.
func (s *Server) install(tb testing.TB) {
	tb.Helper()
	s.lives++
	if err := os.RemoveAll(s.at.Data()); err != nil {
		tb.Fatal(err)
	}
	s.at.Install(tb)
}

// Start starts the server again after Kill.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	s.Process = s.at.Serve(tb, slices.Concat([]string{
		fmt.Sprintf("server-id=%s%d", s.at.Port, s.lives),
		"innodb-flush-log-at-trx-commit=1", "sync-binlog=1", "log-bin=binlog", "log-slave-updates", "binlog-format=ROW",
	}, s.settings, s.files)...)
}

// Addr is where clients reach the server, unless it is cut off.
func (s *Server) Addr() string { return s.front.Addr() }

// SideAddr is where clients reach it that are never cut off.
func (s *Server) SideAddr() string { return s.at.Addr() }

// URL is that of the server for its root.
func (s *Server) URL() string { return URL(s.Addr(), url.User("root")) }

// URL is that of a server at an address, for a user.
func URL(addr string, user *url.Userinfo) string {
	u := url.URL{Scheme: "mysql", User: user, Host: addr, Path: "/"}
	return u.String()
}

// Cut drops what passes between the server and clients, but for those at its SideAddr. With
// clientsStay nothing is dropped: there are no members between which it could be.
func (s *Server) Cut(_ testing.TB, clientsStay bool) {
	if !clientsStay {
		s.front.BlackHole()
	}
}

// Heal lets all pass again.
func (s *Server) Heal(testing.TB) {
	s.front.Pass()
	s.front.Break() // messages on open connections were lost
}

// Front is the proxy at Addr.
func (s *Server) Front() *proxytest.Proxy { return s.front }

// DB connects root to the server itself until the test ends. Each statement may be several.
func (s *Server) DB(tb testing.TB) *sql.DB {
	tb.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.MultiStatements, c.InterpolateParams, c.Logger = "root", "tcp", s.SideAddr(), true, true, new(mysql.NopLogger)
	c.Params = map[string]string{"max_statement_time": "0", "autocommit": "1", "completion_type": "0", "sql_mode": "'STRICT_TRANS_TABLES'"} // whatever a test sets for others
	connector, err := mysql.NewConnector(c)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements as root, on one connection.
func (s *Server) Exec(tb testing.TB, statements ...string) {
	tb.Helper()
	db := s.DB(tb)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// Value is what a statement returns in the first row, as a text: in the column of that name, or in the
// first one for "".
func (s *Server) Value(tb testing.TB, statement, name string) string {
	tb.Helper()
	db := s.DB(tb)
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(tb.Context(), statement)
	if err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		tb.Fatalf("%s: no row: %v, %v", statement, err, rows.Err())
	}
	values, places := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	if err := rows.Scan(places...); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
	at := 0
	if name != "" {
		at = slices.Index(columns, name)
	}
	return values[at].String
}

// StartTLS starts an empty server with a certificate, which is also that of the clients which it trusts.
func StartTLS(tb testing.TB, ca *redistest.CA) *Server {
	tb.Helper()
	s := Start(tb)
	s.Secure(tb, ca)
	return s
}

// Secure gives the server another certificate, and starts it again.
func (s *Server) Secure(tb testing.TB, ca *redistest.CA) {
	tb.Helper()
	s.Kill(tb)
	dir := filepath.Join(s.at.Home.Dir, "tls")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // its user has to read it
		tb.Fatal(err)
	}
	cert, key := ca.Write(tb, dir)
	s.at.Home.Own(tb, dir)
	s.files = []string{"ssl-ca=" + cert, "ssl-cert=" + cert, "ssl-key=" + key}
	s.Start(tb)
}
