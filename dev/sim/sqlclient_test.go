package sim_test

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/sqlstore"
)

// A sqlClient is the SQL store as a process sees it. The only node is the database.
type sqlClient struct {
	*sqlstore.Store
	db *sql.DB
}

// mostConns are the connections of a process.
const mostConns = 8

// newSQLClient returns the store of a process. Each statement is a message.
func newSQLClient(name string, send func(context.Context, sim.Request) ([]string, error), d sqlDialect) *sqlClient {
	c := &sqlClient{db: sql.OpenDB(&sqlConnector{name: name, send: send})}
	c.db.SetMaxOpenConns(mostConns)
	c.db.SetMaxIdleConns(mostConns)
	config := sqlstore.Config{
		Dialect: c, Texts: d.Texts, Slots: d.slots, Limits: kv.Limits{Keys: 500, Bytes: 4 << 20}, Timeout: timeout, Conns: mostConns,
	}
	if d.slots > 1 { // as drivers of servers
		config.Answered = func(err error) bool { return errors.As(err, new(sqlError)) }
	}
	c.Store = sqlstore.New(config)
	return c
}

// Connect implements sqlstore.Dialect.
func (c *sqlClient) Connect(ctx context.Context) (*sql.Conn, error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return nil, groups.Unsent{Err: err}
	}
	return conn, nil
}

// Kept implements sqlstore.Dialect.
func (*sqlClient) Kept(*sql.Conn) error { return nil }

// Undone implements sqlstore.Dialect.
func (*sqlClient) Undone(err error) bool {
	return errors.Is(err, errRowLocked) || errors.Is(err, driver.ErrBadConn)
}

// Failure implements sqlstore.Dialect.
func (*sqlClient) Failure(ctx context.Context, call string, err error) error {
	kind := kv.ErrUnavailable
	switch {
	case errors.As(err, new(groups.Unsent)):
		kind = kv.ErrNotSent
	case errors.Is(err, errRowLocked):
		kind = kv.ErrLocked
	}
	return fmt.Errorf("%s: %w: %w", call, kind, retry.Ended(ctx, err))
}

// Name implements kv.Server.
func (*sqlClient) Name() string { return name(0) }

// Check implements kv.Server.
func (*sqlClient) Check(context.Context) (kv.Checkup, error) { return kv.Checkup{}, nil }

// Close implements kv.Server.
func (c *sqlClient) Close() {
	c.Wait()
	_ = c.db.Close() // all that is lost are connections
}

// A sqlConnector opens connections of a process.
type sqlConnector struct {
	name   string
	send   func(context.Context, sim.Request) ([]string, error)
	opened atomic.Int64
}

// Driver implements driver.Connector.
func (*sqlConnector) Driver() driver.Driver { return nil }

// Connect implements driver.Connector.
func (c *sqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn := &sqlConn{connector: c, session: c.name + "/" + strconv.FormatInt(c.opened.Add(1), 10)}
	if _, err := conn.call(ctx, sqlConnect, nil); err != nil {
		return nil, err
	}
	return conn, nil
}

// A sqlConn is a connection. After a statement without an answer it is of no use.
type sqlConn struct {
	connector *sqlConnector
	session   string
	sent      int
	broken    bool
}

// call sends a statement. The server answers each at once: one that waits for a lock is sent again.
func (c *sqlConn) call(ctx context.Context, text string, args []driver.NamedValue) ([]string, error) {
	if c.broken {
		return nil, driver.ErrBadConn
	}
	for began := time.Now(); ; {
		fields, err := c.send(ctx, text, args)
		switch {
		case !errors.Is(err, errWait):
			c.broken = err != nil && !errors.As(err, new(sqlError))
			return fields, err
		case time.Since(began) > timeout || !retry.Sleep(ctx, time.Millisecond):
			return nil, errRowLocked
		}
	}
}

func (c *sqlConn) send(ctx context.Context, text string, args []driver.NamedValue) ([]string, error) {
	verb, _, _ := strings.Cut(text, " ")
	r := sim.Request{Script: verb, Args: []string{c.session, strconv.Itoa(c.sent), text}}
	for _, a := range args {
		r.Args = append(r.Args, fmt.Sprint(a.Value))
	}
	c.sent++
	return c.connector.send(ctx, r)
}

// ExecContext implements driver.ExecerContext.
func (c *sqlConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	_, err := c.call(ctx, text, args)
	return driver.ResultNoRows, err
}

// QueryContext implements driver.QueryerContext. A text may have several statements: none is made behind one that
// fails. All are made here, since the caller of NextResultSet holds a mutex, and time would stand still.
func (c *sqlConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	r := &sqlRows{}
	for one := range strings.SplitSeq(text, "; ") {
		params := strings.Count(one, "?")
		fields, err := c.call(ctx, one, args[:params])
		if r.failed = err; err != nil {
			break
		}
		if args = args[params:]; strings.HasPrefix(one, "SELECT") {
			r.more = append(r.more, fields)
		}
	}
	if len(r.more) == 0 {
		return nil, r.failed
	}
	return r, r.NextResultSet()
}

// IsValid implements driver.Validator.
func (c *sqlConn) IsValid() bool { return !c.broken }

// Close implements driver.Conn. Nobody waits for an answer.
func (c *sqlConn) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = c.send(ctx, sqlQuit, nil)
	return nil
}

var errNoStatements = errors.New("package sqlstore sends texts")

// Prepare implements driver.Conn.
func (*sqlConn) Prepare(string) (driver.Stmt, error) { return nil, errNoStatements }

// Begin implements driver.Conn.
func (*sqlConn) Begin() (driver.Tx, error) { return nil, errNoStatements }

// sqlRows are the rows of a statement, six columns each.
type sqlRows struct {
	fields []string
	more   [][]string // of the statements behind it
	failed error      // of the one behind those
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (r *sqlRows) HasNextResultSet() bool { return len(r.more) > 0 || r.failed != nil }

// NextResultSet implements driver.RowsNextResultSet.
func (r *sqlRows) NextResultSet() error {
	if len(r.more) == 0 {
		return cmp.Or(r.failed, io.EOF)
	}
	r.fields, r.more = r.more[0], r.more[1:]
	return nil
}

// Columns implements driver.Rows.
func (*sqlRows) Columns() []string {
	return []string{"part", "kind", "name", "sub", "version", "value"}
}

// Close implements driver.Rows.
func (*sqlRows) Close() error { return nil }

// Next implements driver.Rows.
func (r *sqlRows) Next(values []driver.Value) error {
	if len(r.fields) == 0 {
		return io.EOF
	}
	for i := range values {
		values[i] = r.fields[i]
	}
	r.fields = r.fields[len(values):]
	return nil
}

var (
	_ kv.Server        = (*sqlClient)(nil)
	_ sqlstore.Dialect = (*sqlClient)(nil)

	_ driver.RowsNextResultSet = (*sqlRows)(nil)
)
