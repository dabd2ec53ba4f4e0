package postgres

import (
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
	// life is always the same, and the timeline is not read. Never set it for a server with
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
	if stat := s.pool.Stat(); errors.Is(err, ctx.Err()) && stat.AcquiredConns() == stat.MaxConns() {
		err = fmt.Errorf("%w, %d of %d: raise pool_max_conns in the URL, or MaxConns of the pool (%w)", errAllInUse, stat.AcquiredConns(), stat.MaxConns(), err)
	} else if errors.Is(err, ctx.Err()) { // pgx goes on in the background
		err = fmt.Errorf("%s: %w", strings.Join(s.servers(), ", "), err)
	}
	return nil, notSent{err}
}

// Close closes the connections. No call may follow.
func (s *Store) Close() { s.pool.Close() }

// Schema is that of the tables and functions, quoted.
func (s *Store) Schema() string { return s.schema }

// Limits implements [kv.Store].
func (s *Store) Limits() kv.Limits { return limits }

var _ kv.Store = (*Store)(nil)
