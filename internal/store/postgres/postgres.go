package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/store"
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
var limits = store.Limits{Keys: 500, Bytes: 8 << 20}

// Config says where the records are.
type Config struct {
	// URL is that of the database, as libpq and pgx read it. It may name several servers:
	// the one that writes is used.
	URL string
	// Pool is used instead of URL, and is not closed. Its connections need the isolation
	// level READ COMMITTED, which is PostgreSQL's default. After a failover its owner drops
	// connections to a server that only reads now: call Reset, or set a short MaxConnLifetime.
	Pool *pgxpool.Pool
	// Schema is where the tables are. Default [DefaultSchema].
	Schema string
	// Durable says that no failover of this service forgets what was committed. Then the
	// life is always the same, and the timeline is not read. Never set it for a server with
	// an asynchronous standby: a promotion would then go unnoticed, and ticks run twice.
	Durable bool
}

// A Store is a [store.Store] on PostgreSQL. Make one with Open.
type Store struct {
	pool    *pgxpool.Pool
	owned   bool   // the pool was made by Open
	schema  string // quoted
	durable bool
	checked atomic.Bool // the schema is one that this release knows
}

// Open returns the store that c describes. It does not connect: that is for the first call.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{pool: c.Pool, schema: quoted(c.Schema), durable: c.Durable}
	if s.pool != nil {
		return s, nil
	}
	config, err := poolConfig(c.URL)
	if err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s.owned = true
	return s, nil
}

// poolConfig reads a URL. The errors of pgx would quote it, with its password. A second @ is one
// of the password: pgx would take what is behind the first for the host, which messages name.
func poolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if url == "" || err != nil || strings.Contains(url, "://") && strings.Count(url, "@") > 1 {
		return nil, errors.New("postgres: the URL cannot be read: write postgres://USER:PASSWORD@HOST:5432/DATABASE, with %40 for @ and %2F for / in the password")
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = maxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.ConnectTimeout > connectTimeout {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if len(config.ConnConfig.Fallbacks) > 0 && config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	return config, nil
}

// Close closes the connections that Open has made. No call may follow.
func (s *Store) Close() {
	if s.owned {
		s.pool.Close()
	}
}

// Schema is that of the tables and functions, quoted.
func (s *Store) Schema() string { return s.schema }

// Limits implements [store.Store].
func (s *Store) Limits() store.Limits { return limits }

var _ store.Store = (*Store)(nil)
