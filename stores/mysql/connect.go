package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Bounds of the connections that a Store opens.
const (
	maxConns       = 8 // unless the URL has max_connections
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
	sessionSettings  = `SET NAMES binary, time_zone = '+00:00', timestamp = DEFAULT, autocommit = 1, completion_type = 'NO_CHAIN',
		sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', sql_select_limit = 18446744073709551615,
		innodb_lock_wait_timeout = 1 /*!80000 , wait_timeout = 20, max_execution_time = 0 */ /*M! , idle_transaction_timeout = 2, max_statement_time = 0 */`
)

// A connector opens connections of the Store.
type connector struct {
	driver driver.Connector
	check  func(settings) error
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
	found := settings{}
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

// connect returns connections to the server of a URL that was read. It does not connect.
func (c Config) connect(parsed parsed, check func(settings) error) (*sql.DB, error) {
	if err := parsed.driver.Apply(mysql.BeforeConnect(func(_ context.Context, next *mysql.Config) error {
		fresh, err := c.read()
		if err != nil {
			return loginError{err}
		}
		next.User, next.Passwd, next.Net, next.Addr = fresh.driver.User, fresh.driver.Passwd, fresh.driver.Net, fresh.driver.Addr
		next.TLS, next.AllowFallbackToPlaintext = fresh.driver.TLS, fresh.driver.AllowFallbackToPlaintext
		return nil
	})); err != nil {
		return nil, err
	}
	driver, err := mysql.NewConnector(parsed.driver)
	if err != nil {
		return nil, errURL // the driver would quote a part of it
	}
	db := sql.OpenDB(connector{driver, check})
	db.SetMaxOpenConns(parsed.maxConns)
	db.SetMaxIdleConns(parsed.maxConns)
	db.SetConnMaxIdleTime(maxIdle)
	db.SetConnMaxLifetime(maxAge)
	return db, nil
}

// parsed is a URL that was read, with the files that it names.
type parsed struct {
	driver   *mysql.Config
	maxConns int
}

// errURL says what to write. It never quotes the URL, which may have a password.
var errURL = errors.New("the URL cannot be read: write mysql://USER:PASSWORD@HOST:3306/, with %40 for @ and %2F for / in the password; ?tls=true encrypts, and tls_ca, tls_cert and tls_key name PEM files")

// read reads the URL as it is now.
func (c Config) read() (parsed, error) {
	text := c.URL
	if c.Expand != nil {
		var err error
		if text, err = c.Expand(text); err != nil {
			return parsed{}, fmt.Errorf("the URL: %w", err)
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.User == nil || u.Opaque != "" || u.Fragment != "" || strings.Count(text, "@") > 1 { // a second @ is one of the password
		return parsed{}, errURL
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return parsed{}, errURL
	}
	d := mysql.NewConfig()
	d.User = u.User.Username()
	d.Passwd, _ = u.User.Password()
	d.Net, d.Addr = "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	d.Timeout, d.InterpolateParams, d.Logger = connectTimeout, true, new(mysql.NopLogger)
	if socket := options.Get("socket"); socket != "" {
		d.Net, d.Addr = "unix", socket
	} else if u.Hostname() == "" {
		return parsed{}, errURL
	}
	p := parsed{d, maxConns}
	for name, values := range options {
		switch name {
		case "socket", "tls", "tls_ca", "tls_cert", "tls_key", "tls_server_name":
		case "max_connections":
			if p.maxConns, err = strconv.Atoi(values[0]); err != nil || p.maxConns < leastConns {
				return parsed{}, fmt.Errorf("max_connections in the URL has to be a number, at least %d", leastConns)
			}
		default: // its name might be a part of the password
			return parsed{}, errors.New("the URL has an option that is not known: those are socket, tls, tls_ca, tls_cert, tls_key, tls_server_name and max_connections")
		}
	}
	return p, secure(d, u.Hostname(), options)
}

// leastConns are those that calls need: two groups of each kind, and one that waits for nobody.
const leastConns = 5

// secure sets how a connection is encrypted.
func secure(d *mysql.Config, host string, options url.Values) error {
	mode := options.Get("tls")
	files := options.Has("tls_ca") || options.Has("tls_cert") || options.Has("tls_key") || options.Has("tls_server_name")
	if mode == "" && files {
		mode = "true"
	}
	t := &tls.Config{ServerName: cmp.Or(options.Get("tls_server_name"), host), MinVersion: tls.VersionTLS12}
	switch mode {
	case "", "false":
		if files {
			return errors.New("the URL names files for TLS, and has tls=false: remove one of both")
		}
		return nil
	case "true":
	case "skip-verify":
		t.InsecureSkipVerify = true
	case "preferred":
		t.InsecureSkipVerify, d.AllowFallbackToPlaintext = true, true
	default:
		return errors.New("tls in the URL has to be true, preferred, skip-verify or false")
	}
	if path := options.Get("tls_ca"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return fileError(err)
		}
		if t.RootCAs = x509.NewCertPool(); !t.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls_ca in the URL: %s has no certificate", path)
		}
	}
	if cert, key := options.Get("tls_cert"), options.Get("tls_key"); cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return fileError(err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	d.TLS = t
	return nil
}

func fileError(err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("a file that the URL names cannot be read: %w", file)
	}
	return fmt.Errorf("tls_cert and tls_key in the URL: %w", err)
}
