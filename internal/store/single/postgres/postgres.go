// Package postgres is a [kv.Store] on PostgreSQL 15 or later.
//
// # Setting up
//
// [Migrate] makes the schema, as its owner. Replicas use a role that may only call the
// functions and read the views; [Grants] has the statements that allow it. The functions
// run with the rights of their owner, so replicas have no right to the tables themselves. The
// schema belongs to Quorate alone.
//
// Connections may go through PgBouncer in transaction mode: every call is one statement, after a look
// at what a new connection is. It is prepared once per connection where no pooler is between.
//
// # Tables
//
// The table "records" has all records, by kind, name and sub. The views "runs" and "ticks" have
// the ledger with typed columns.
//
// # Transactions
//
// Commit is one call of the function commit_group, at READ COMMITTED. It locks the keys,
// compares, and writes. The locks are advisory locks by the hash of the key, held until the
// transaction ends: rows cannot be locked that do not exist. A key that is only compared
// costs a shared lock in memory, and nothing is written for it.
//
// Transactions that arrive while others are under way go together, in one call and with one flush
// to the disk. Each is decided on its own. One whose keys are locked goes alone, and
// so does each of a group that has failed. Reads that arrive together are one statement. Queued
// requests always go alone: SQL functions that jobs call lock their rows, but no keys.
//
// # Incarnations
//
// The incarnation is the server's system identifier and its timeline, read by the statement that
// reads or writes records. A promoted standby and a server that was recovered to a point in
// time have another timeline. A server that restarts has the same one: it has kept what it
// acknowledged, if fsync and full_page_writes are on. A disk snapshot or a copied data
// directory that is started as it is has the same incarnation too; operators have to say so.
//
// Some services hide the timeline, and promise that no failover forgets what was committed.
// [Config.Durable] believes them.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// DefaultSchema is the schema if a Config names none.
const DefaultSchema = "quorate"

// Bounds of the connections that a Store opens.
const (
	maxConns       = 8 // unless the URL has pool_max_conns
	connectTimeout = 5 * time.Second
)

// limits bound a transaction. Each key takes a place in the server's table of locks, which
// has some thousands for all clients together.
var limits = kv.Limits{Keys: 500, Bytes: 8 << 20}

// Config says where the records are.
type Config struct {
	// URL is that of the database, as libpq and pgx read it. It may name several servers:
	// the one that writes is used. It is read anew for each connection, with the files that it
	// names, so that a password or a certificate can be replaced.
	URL string
	// Expand resolves references in the URL; nil: it has none.
	Expand func(string) (string, error)
	// Pool is a pool of the service, and takes the place of the URL. The Store opens connections
	// of its own with the settings of that pool, at most as many: jobs cannot take those.
	Pool *pgxpool.Pool
	// Schema is where the tables are. Default [DefaultSchema].
	Schema string
	// Durable says that no failover of this service forgets what was committed. Then the
	// incarnation is always the same, and the timeline is not read. Never set it for a server with
	// an asynchronous standby: a promotion would then go unnoticed, and ticks run twice.
	Durable bool
	// Timeout is the longest that a call may take: a statement_timeout below it is refused.
	Timeout time.Duration
}

// A Store is a [kv.Store] on PostgreSQL. Make one with Open.
type Store struct {
	pool    *pgxpool.Pool
	schema  string // quoted
	durable bool
	timeout time.Duration
	checked atomic.Bool // schema and settings are such that this release can work with them

	commits groups.Queue[transaction, kv.Outcome]
	reads   groups.Queue[[]kv.Key, found]
	single  chan struct{} // a place for each transaction that goes alone, fewer than connections
}

// found is what a Read returns.
type found struct {
	records []kv.Record
	stamp   kv.Stamp
}

// Open returns the store that c describes. It does not connect: that is for the first call.
func Open(ctx context.Context, c Config) (*Store, error) {
	config, err := c.poolConfig()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	config.MinConns, config.MinIdleConns = 0, 0
	adjust(config.ConnConfig)
	s := &Store{schema: quoted(c.Schema), durable: c.Durable, timeout: c.Timeout}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	short := c.Timeout / 4
	if config.PingTimeout == 0 { // else a dead connection would cost a call all of its time
		config.PingTimeout = cmp.Or(c.Timeout/2, time.Second)
	}
	s.commits.Connect, s.commits.Unsent, s.commits.Least = s.connectToCommit, s.noConnection, short
	s.reads.Connect, s.reads.Unsent, s.reads.Least = s.connectToRead, s.noConnection, short
	s.commits.Connects, s.reads.Connects = cmp.Or(c.Timeout, connectTimeout), cmp.Or(c.Timeout, connectTimeout)
	s.single = make(chan struct{}, max(1, int(config.MaxConns)-2*groups.MostUnderWay))
	return s, nil
}

func (c Config) poolConfig() (*pgxpool.Config, error) {
	if c.Pool != nil {
		config := c.Pool.Config()
		config.MaxConns = min(config.MaxConns, maxConns)
		return config, nil
	}
	config, err := c.read()
	if err != nil {
		return nil, err
	}
	config.BeforeConnect = func(_ context.Context, connection *pgx.ConnConfig) error {
		fresh, err := c.read()
		if err != nil {
			return meaning{err, kv.ErrLogin}
		}
		adjust(fresh.ConnConfig)
		*connection = *fresh.ConnConfig
		return nil
	}
	return config, nil
}

// read reads the URL. The errors of pgx would quote it, with its password. A second @ is one
// of the password: pgx would take what is behind the first for the host, which messages name.
func (c Config) read() (*pgxpool.Config, error) {
	url := c.URL
	if c.Expand != nil {
		var err error
		if url, err = c.Expand(url); err != nil {
			return nil, fmt.Errorf("the URL: %w", err)
		}
	}
	config, err := pgxpool.ParseConfig(url)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("a file that the URL names cannot be read: %w", file)
	}
	if url == "" || err != nil || strings.Contains(url, "://") && strings.Count(url, "@") > 1 {
		return nil, errors.New("the URL cannot be read: write postgres://USER:PASSWORD@HOST:5432/DATABASE, with %40 for @ and %2F for / in the password, and the names of PEM files in sslrootcert, sslcert and sslkey")
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = maxConns
	}
	return config, nil
}

// adjust bounds how long it takes to connect, and looks for the server that writes. Texts are
// exchanged in UTF-8, whatever the role or the database has as client_encoding.
func adjust(c *pgx.ConnConfig) {
	if c.ConnectTimeout == 0 || c.ConnectTimeout > connectTimeout {
		c.ConnectTimeout = connectTimeout
	}
	c.ValidateConnect = nil // of one server the calls say why it does not write
	if slices.ContainsFunc(c.Fallbacks, func(other *pgconn.FallbackConfig) bool { return other.Host != c.Host || other.Port != c.Port }) {
		c.ValidateConnect = writes
	}
	c.RuntimeParams["client_encoding"] = "UTF8"
}

// errAllInUse is why a call got no connection, although the server may be well.
var errAllInUse = errors.New("all connections are in use")

// acquire returns a free connection.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err == nil {
		return conn, nil
	}
	if errors.Is(err, ctx.Err()) {
		err = s.noConnection(err)
	}
	return nil, groups.Unsent{Err: err}
}

// noConnection is why a call whose context has ended got no connection.
func (s *Store) noConnection(ended error) error {
	if stat := s.pool.Stat(); stat.AcquiredConns() == stat.MaxConns() {
		return fmt.Errorf("%w, %d of %d: raise pool_max_conns in the URL, or MaxConns of the pool (%w)", errAllInUse, stat.AcquiredConns(), stat.MaxConns(), ended)
	}
	return fmt.Errorf("%s: %w", strings.Join(s.servers(), ", "), ended) // pgx goes on in the background
}

// ready returns a free connection to a server with which this release can work.
func (s *Store) ready(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.check(ctx, conn); err != nil {
		conn.Release()
		return nil, groups.Unsent{Err: err}
	}
	mark(ctx, conn.Conn())
	return conn, nil
}

// Close closes the connections. No call may follow.
func (s *Store) Close() {
	s.pool.Close() // nobody waits for a connection any more
	s.commits.Close()
	s.reads.Close()
}

// Schema is that of the tables and functions, quoted.
func (s *Store) Schema() string { return s.schema }

// Limits implements [kv.Store].
func (s *Store) Limits() kv.Limits { return limits }

var _ kv.Store = (*Store)(nil)
