package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// errReplaced is why a connection is of no use: its files are no longer those at the path.
var errReplaced = errors.New("the file, its -wal or its -shm was replaced or deleted while it was in use")

// A connector opens connections to the files that were at a place when it was made, and to no others.
type connector struct {
	place    place
	identity identity
	// turn is held by the connection of this process that waits for the right to write, so that
	// others of this process do not compete with it.
	turn chan struct{}
}

// same makes sure that the files at the place are still those of the connector.
func (c *connector) same() error {
	now, err := c.place.identify()
	if err == nil && now != c.identity {
		err = errReplaced
	}
	return err
}

// Driver implements [driver.Connector].
func (c *connector) Driver() driver.Driver { return new(sqlite.Driver) }

// Connect implements [driver.Connector].
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) { return c.dial(ctx) }

// dial opens a connection. SQLite opens the files by their names, the last of them with the first
// statement. They are the right ones if the names stand for the same files before and after.
func (c *connector) dial(ctx context.Context) (*link, error) {
	if err := c.same(); err != nil {
		return nil, err
	}
	l, err := dial(c.place, "", c)
	if err != nil {
		return nil, err
	}
	err = whileBusy(ctx, func() error { return l.prepare(ctx) })
	if err == nil {
		err = c.same()
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// driverConn is what connections of the driver can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	sqlite.FileControl
}

// A link is a connection of the driver that knows to which files it belongs.
type link struct {
	driverConn
	connector  *connector
	statements map[string]statement // compiled ones, by their texts
}

// A statement is one that the driver has compiled.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Bounds of the statements that a link keeps. To compile one takes longer than to run it.
const (
	mostStatements   = 64
	longestStatement = 4096 // bytes of its text
)

// compiled returns a statement that was compiled before, or is worth it; nil for others. The package
// database/sql calls one at a time.
func (l *link) compiled(ctx context.Context, text string) (statement, error) {
	if s := l.statements[text]; s != nil {
		return s, nil
	}
	if l.connector == nil || len(l.statements) >= mostStatements || len(text) > longestStatement {
		return nil, nil
	}
	stmt, err := l.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s, ok := stmt.(statement)
	if !ok {
		return nil, stmt.Close()
	}
	l.statements[text] = s
	return s, nil
}

// Close implements [driver.Conn].
func (l *link) Close() error {
	for _, s := range l.statements {
		_ = s.Close() // it has no rows any more
	}
	return l.driverConn.Close()
}

func (l *link) query(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := l.compiled(ctx, text)
	if s == nil && err == nil {
		return l.driverConn.QueryContext(ctx, text, args)
	} else if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args)
}

// exec runs a statement to its end. The driver would report the end of ctx in place of what has become of
// the statement, and cannot end what takes long, the wait for the disk.
func (l *link) exec(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	ctx = context.WithoutCancel(ctx)
	s, err := l.compiled(ctx, text)
	if s == nil && err == nil {
		return l.driverConn.ExecContext(ctx, text, args)
	} else if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args)
}

// dial opens a connection. Options are those of a URI of SQLite.
func dial(p place, options string, c *connector) (*link, error) {
	uri := url.URL{Scheme: "file", Path: p.main, RawQuery: options}
	conn, err := new(sqlite.Driver).Open(uri.String())
	if err != nil {
		return nil, err
	}
	known, ok := conn.(driverConn)
	if !ok {
		return nil, errors.Join(errors.New("the driver of SQLite has changed: use the one of this module's go.mod"), conn.Close())
	}
	l := &link{driverConn: known, connector: c, statements: map[string]statement{}}
	// SQLite deletes the -wal and -shm with the last connection, by their names, which may stand for
	// files of another database by then.
	if _, err := l.FileControlPersistWAL("main", 1); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// settings are those of each connection. Commits wait for the disk, on macOS for its platters, too. The
// connection itself waits for locks, as long as the context lasts.
const settings = `PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
	PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 8388608; `

// prepare makes the settings, and looks at those of the file.
func (l *link) prepare(ctx context.Context) error {
	if _, err := l.ExecContext(ctx, settings, nil); err != nil {
		return err
	}
	var found file
	if err := l.look(ctx, &found); err != nil {
		return err
	}
	if found.journal != "wal" {
		return refuse("its journal_mode is %s: another program has changed it; run PRAGMA journal_mode = WAL", found.journal)
	}
	if err := found.check(); err != nil {
		return err
	}
	has, err := l.value(ctx, "SELECT namespace FROM life")
	switch want := l.connector.place.namespace; {
	case err != nil:
	case has == nil:
		err = refuse("its life has no row, so another program has changed it: put a backup in its place")
	case has != want:
		err = refuse("it belongs to the namespace %v, and the configuration says %s: choose another path", has, want)
	}
	return err
}

// A file is what a database says of itself.
type file struct {
	application, version, tables int64
	encoding, journal            string
}

// look reads what the database says of itself.
func (l *link) look(ctx context.Context, f *file) error {
	for query, to := range map[string]*int64{
		"PRAGMA application_id": &f.application, "PRAGMA user_version": &f.version,
		"SELECT count(*) FROM sqlite_schema": &f.tables,
	} {
		got, err := l.value(ctx, query)
		if err != nil {
			return err
		}
		*to, _ = got.(int64)
	}
	for query, to := range map[string]*string{"PRAGMA encoding": &f.encoding, "PRAGMA journal_mode": &f.journal} {
		got, err := l.value(ctx, query)
		if err != nil {
			return err
		}
		*to, _ = got.(string)
	}
	return nil
}

// value returns the first column of the first row of a query; nil for no row.
func (l *link) value(ctx context.Context, query string) (driver.Value, error) {
	rows, err := l.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(row); errors.Is(err, io.EOF) {
		row[0], err = nil, nil
	}
	return row[0], errors.Join(err, rows.Close())
}

// beginWriting starts a transaction that will write. Others wait for it, so it never has to be
// repeated because of what they have written.
const beginWriting = "BEGIN IMMEDIATE"

// QueryContext implements [driver.QueryerContext]. It waits while another process repairs the -wal after
// a crash. A query that does not begin has changed nothing.
func (l *link) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = whileBusy(ctx, func() error {
		rows, err = l.query(ctx, query, args)
		return err
	})
	return rows, err
}

// ExecContext implements [driver.ExecerContext]. A transaction that will write waits until others have
// ended, but less long than ctx lasts: its error says then that nothing was changed. SQLite would wait
// longer and longer between its tries, and not notice the end of ctx.
func (l *link) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if l.connector == nil || !strings.HasPrefix(query, beginWriting) {
		return l.exec(ctx, query, args)
	}
	patience := ctx
	if until, bounded := ctx.Deadline(); bounded {
		var stop context.CancelFunc
		patience, stop = context.WithDeadline(ctx, until.Add(-time.Until(until)/4))
		defer stop()
	}
	select {
	case l.connector.turn <- struct{}{}:
		defer func() { <-l.connector.turn }()
	case <-patience.Done():
		return nil, errBusy
	}
	var result driver.Result
	err := whileBusy(patience, func() (err error) {
		result, err = l.exec(ctx, query, args)
		return err
	})
	return result, err
}

// kept makes sure that what was read or committed is in the file at the path.
func (l *link) kept() error {
	if err := l.connector.same(); err != nil {
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	}
	return nil
}
