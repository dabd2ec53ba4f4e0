package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Bounds of the connections that a Store opens.
const (
	maxConns       = 8
	connectTimeout = 5 * time.Second
	// maxIdle is how long a connection lasts that nobody uses: half of the wait_timeout of sessions, so
	// that it is never the server that ends it.
	maxIdle = 10 * time.Second
	// maxAge bounds how long a server is used that DNS or a proxy has replaced.
	maxAge = time.Minute
)

// Session settings, in place of what the server, the user or init_connect has. Texts are bytes, since all
// columns with names and documents are: the server checks and converts none. The server ends a
// session that pauses in a transaction, since a replica that has stopped would keep its locks: on MariaDB
// after two seconds, on MySQL, which has no such setting, one that pauses at all for 20 s.
const (
	sessionIsolation = `SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE`
	sessionSettings  = `SET NAMES binary, time_zone = '+00:00', timestamp = DEFAULT, autocommit = 1, completion_type = 'NO_CHAIN', sql_safe_updates = 0,
		sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_limit = 18446744073709551615,
		innodb_lock_wait_timeout = 1 /*!80000 , wait_timeout = 20, max_execution_time = 0 */ /*M! , idle_transaction_timeout = 2, max_statement_time = 0 */`
)

// A connector opens connections of the Store.
type connector struct {
	driver driver.Connector
	check  func(variables) error
}

// Connect implements [driver.Connector]. It returns a session whose settings, and those of whose server,
// do not change what statements mean, and lose no commit.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := c.driver.Connect(ctx)
	if err != nil {
		return nil, connectError{err}
	}
	if err := c.prepare(ctx, conn); err != nil {
		_ = conn.Close() // the error says more
		return nil, connectError{err}
	}
	return conn, nil
}

// Driver implements [driver.Connector].
func (c connector) Driver() driver.Driver { return c.driver.Driver() }

func (c connector) prepare(ctx context.Context, conn driver.Conn) error {
	session, ok := conn.(interface {
		driver.ExecerContext
		driver.QueryerContext
	})
	if !ok {
		return errors.New("the driver cannot send a statement as a text")
	}
	for _, statement := range []string{sessionIsolation, sessionSettings} {
		if _, err := session.ExecContext(ctx, statement, nil); err != nil {
			return err
		}
	}
	rows, err := session.QueryContext(ctx, readSettings, nil)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	found := variables{}
	for row := make([]driver.Value, 2); ; {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return c.check(found)
		case err != nil:
			return err
		}
		found.add(text(row[0]), text(row[1]))
	}
}

// text is a value that the driver has read, as a text.
func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// A connectError is why there is no connection. It never hides that a statement was sent.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

// connect returns connections to the server that was read. It does not connect.
func (c source) connect(read *mysql.Config, check func(variables) error) (*sql.DB, error) {
	err := read.Apply(mysql.BeforeConnect(func(_ context.Context, next *mysql.Config) error {
		now, err := c.read()
		if err != nil {
			return loginError{err}
		}
		next.User, next.Passwd, next.Addr, next.TLS, next.AllowFallbackToPlaintext = now.User, now.Passwd, now.Addr, now.TLS, now.AllowFallbackToPlaintext
		return nil
	}))
	if err != nil {
		return nil, err
	}
	driver, err := mysql.NewConnector(read)
	if err != nil {
		return nil, errURL // the driver would quote a part of it
	}
	db := sql.OpenDB(connector{driver, check})
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxIdleTime(maxIdle)
	db.SetConnMaxLifetime(maxAge)
	return db, nil
}

// errURL says what to write. It never quotes the URL, which may have a password.
var errURL = errors.New("the URL cannot be read: write mysql://USER:PASSWORD@HOST:3306, with %40 for @ and %2F for / in the password, and ?tls=true, skip-verify or preferred for TLS")

// read reads the URL and the certificates as they are now.
func (c source) read() (*mysql.Config, error) {
	login, err := c.fresh()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(login.URL)
	if err != nil || u.Scheme != "mysql" || u.User == nil || u.Hostname() == "" || u.Fragment != "" || strings.Count(login.URL, "@") > 1 { // a second @ is one of the password
		return nil, errURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	mode, only := query["tls"]
	if err != nil || len(query) > 1 || len(query) == 1 && !only || len(mode) > 1 {
		return nil, errURL
	}
	d := mysql.NewConfig()
	d.User = u.User.Username()
	d.Passwd, _ = u.User.Password()
	d.Net, d.Addr = "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	d.Timeout, d.InterpolateParams, d.MultiStatements, d.Logger = connectTimeout, true, true, new(mysql.NopLogger)
	switch query.Get("tls") {
	case "":
		d.TLS = login.TLS
	case "true":
		d.TLS = cmp.Or(login.TLS, new(tls.Config))
	case "skip-verify", "preferred":
		d.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the operator wants it
		d.AllowFallbackToPlaintext = query.Get("tls") == "preferred"
	default:
		return nil, errURL
	}
	if d.TLS != nil {
		d.TLS = d.TLS.Clone()
		d.TLS.ServerName, d.TLS.MinVersion = cmp.Or(d.TLS.ServerName, u.Hostname()), tls.VersionTLS12
	}
	return d, nil
}
