// Package postgres is a [kv.Store] on PostgreSQL 15 or later.
//
// # Setting up
//
// [Migrate] makes the schema, as its owner. Replicas use a role that may only call the
// functions and read the views; [Grants] has the statements that allow it. The functions
// run with the rights of their owner, so replicas have no right to the tables themselves. The
// schema belongs to Quorate alone.
//
// Connections may go through PgBouncer in transaction mode: every call is one statement, and
// none is prepared. A session keeps only the identifier of its server, which the function life
// reads once: all who share the session have the same server.
//
// # Tables
//
// The table "records" has all records, by kind, name and sub. The views "runs" and "ticks" have
// the ledger with typed columns.
//
// # Transactions
//
// Commit is one call of the function commit_records, at READ COMMITTED. It locks the keys,
// compares, and writes. The locks are advisory locks by the hash of the key, held until the
// transaction ends: rows cannot be locked that do not exist. A key that is only compared
// costs a shared lock in memory, and nothing is written for it.
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
	"encoding/json"
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

// attempts is how often a transaction is tried that has certainly changed nothing.
const attempts = 3

// The statements. They are planned at each call, so they are simple.
const (
	readRecords   = `SELECT * FROM {schema}.read_records($1, $2, $3, $4)`
	listRecords   = `SELECT * FROM {schema}.list_records($1, $2, $3, $4, $5, $6, $7)`
	commitRecords = `SELECT * FROM {schema}.commit_records($1, $2, $3, $4, $5, $6, $7, $8, $9)`
)

// columns are keys as the functions take them.
type columns struct{ kinds, names, subs []string }

func (c *columns) add(k kv.Key) {
	c.kinds, c.names, c.subs = append(c.kinds, string(k.Kind)), append(c.names, k.Name), append(c.subs, k.Sub)
}

// Read implements [kv.Store].
func (s *Store) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	var list []kv.Record
	var c columns
	for _, k := range keys {
		list = append(list, kv.Record{Key: k})
		c.add(k)
	}
	found := func(at int, r kv.Record) { list[at].Version, list[at].Value = r.Version, r.Value }
	stamp, err := s.query(ctx, found, readRecords, s.durable, c.kinds, c.names, c.subs)
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "read", err)
	}
	return list, stamp, nil
}

// List implements [kv.Store].
func (s *Store) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	lists := make([][]kv.Record, len(ranges))
	var from, to columns
	var most []int
	for _, r := range ranges {
		from.add(kv.Key{Kind: r.Kind, Name: r.From.Name, Sub: r.From.Sub})
		to.add(kv.Key{Name: r.To.Name, Sub: r.To.Sub})
		most = append(most, r.Limit)
	}
	found := func(at int, r kv.Record) {
		r.Key.Kind = ranges[at].Kind
		lists[at] = append(lists[at], r)
	}
	stamp, err := s.query(ctx, found, listRecords, s.durable, from.kinds, from.names, from.subs, to.names, to.subs, most)
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "list", err)
	}
	return lists, stamp, nil
}

// query calls found for each row of a statement that only reads, with the place, from 0, of
// the key or range that it belongs to.
func (s *Store) query(ctx context.Context, found func(int, kv.Record), statement string, args ...any) (kv.Stamp, error) {
	var stamp kv.Stamp
	conn, err := s.acquire(ctx)
	if err != nil {
		return stamp, err
	}
	defer conn.Release()
	if err := s.check(ctx, conn); err != nil {
		return stamp, err
	}
	rows, err := conn.Query(ctx, s.text(statement), inline(args)...)
	if err != nil {
		return stamp, err
	}
	var clock int64
	var at *int
	var version *int64
	var name, sub, value *string
	_, err = pgx.ForEachRow(rows, []any{&stamp.Incarnation, &clock, &at, &name, &sub, &version, &value}, func() error {
		if at != nil {
			key := kv.Key{Name: *name, Sub: *sub}
			found(*at-1, kv.Record{Key: key, Version: uint64(*version), Value: json.RawMessage(*value)})
		}
		return nil
	})
	stamp.Now = time.UnixMicro(clock)
	return stamp, err
}

// Commit implements [kv.Store].
func (s *Store) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if err := t.Check(limits); err != nil {
		return kv.Outcome{}, err
	}
	for left := attempts; ; left-- {
		o, err := s.commit(ctx, t)
		switch {
		case err == nil:
			return o, nil
		case left == 1, !changedNothing(err), ctx.Err() != nil:
			return kv.Outcome{}, s.failure(ctx, "commit", err)
		}
	}
}

func (s *Store) commit(ctx context.Context, t kv.Txn) (o kv.Outcome, err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return o, err
	}
	defer conn.Release()
	if err := s.check(ctx, conn); err != nil {
		return o, notSent{err}
	}
	var ops, values []string
	var wanted []int64
	var keys columns
	for _, c := range changes(t) {
		keys.add(c.key)
		ops, wanted, values = append(ops, c.op), append(wanted, c.wanted), append(values, string(c.value))
	}
	args := []any{t.Incarnation, s.durable, patience(ctx), ops, keys.kinds, keys.names, keys.subs, wanted, values}
	var clock int64
	err = conn.QueryRow(ctx, s.text(commitRecords), inline(args)...).Scan(&o.Won, &o.Version, &o.Stamp.Incarnation, &clock)
	o.Stamp.Now = time.UnixMicro(clock)
	return o, err
}

// A change is what a transaction does with a key.
type change struct {
	key    kv.Key
	op     string // "put", "delete", or "if": nothing
	wanted int64  // the version that it has to have; -1: any
	value  json.RawMessage
}

// changes lists what t does, as commit_records takes it: in the order of keys, and a change
// before further conditions on its key.
func changes(t kv.Txn) []change {
	var list []change
	at := map[kv.Key]int{}
	add := func(c change) {
		at[c.key] = len(list)
		list = append(list, c)
	}
	for _, w := range t.Put {
		add(change{w.Key, "put", -1, w.Value})
	}
	for _, k := range t.Delete {
		add(change{k, "delete", -1, nil})
	}
	for _, c := range t.If {
		if i, changed := at[c.Key]; changed && list[i].wanted < 0 {
			list[i].wanted = int64(c.Version)
			continue
		}
		add(change{c.Key, "if", int64(c.Version), nil})
	}
	slices.SortStableFunc(list, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.key.Kind, b.key.Kind), cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Sub, b.key.Sub))
	})
	return list
}

// patience is how many milliseconds a transaction may wait for locks: less than its caller
// waits for the answer, which says then that nothing was changed.
func patience(ctx context.Context) int64 {
	until, bounded := ctx.Deadline()
	if !bounded {
		return 0
	}
	return max(1, time.Until(until).Milliseconds()*3/4)
}

// text is a statement on the schema.
func (s *Store) text(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", s.schema)
}

// inline makes pgx send a statement at once and unnamed: a connection of PgBouncer may
// belong to another session with the next statement.
func inline(args []any) []any { return append([]any{pgx.QueryExecModeExec}, args...) }
