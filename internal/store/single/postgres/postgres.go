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
// Transactions that arrive while others are under way go together, in one call of commit_group and
// with one flush to the disk. Each is decided on its own. One whose keys are locked goes alone, and
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

	commits queue[transaction, kv.Outcome]
	reads   queue[[]kv.Key, found]
	single  chan struct{} // a place for each transaction that goes alone; groups keep connections besides
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
	s.commits.connect, s.commits.unsent, s.commits.least, s.commits.most = s.connectToCommit, s.noConnection, short, mostKeys
	s.reads.connect, s.reads.unsent, s.reads.least, s.reads.most = s.connectToRead, s.noConnection, short, mostKeys
	s.single = make(chan struct{}, max(1, int(config.MaxConns)-2*mostGroups))
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
	return nil, notSent{err}
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
		return nil, notSent{err}
	}
	return conn, nil
}

// Close closes the connections. No call may follow.
func (s *Store) Close() {
	s.commits.close()
	s.reads.close()
	s.pool.Close()
}

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
	commitGroup   = `SELECT * FROM {schema}.commit_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
)

// columns are keys as the functions take them.
type columns struct{ kinds, names, subs []string }

func (c *columns) add(k kv.Key) {
	c.kinds, c.names, c.subs = append(c.kinds, string(k.Kind)), append(c.names, k.Name), append(c.subs, k.Sub)
}

// Read implements [kv.Store].
func (s *Store) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	m := &member[[]kv.Key, found]{ctx: ctx, ask: keys, keys: keys}
	alone, err := s.reads.do(m)
	if alone {
		var conn *pgxpool.Conn
		if conn, err = s.ready(ctx); err == nil {
			m.answer, err = s.read(ctx, conn, keys)
			conn.Release()
		}
	}
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "read", err)
	}
	return m.answer.records, m.answer.stamp, nil
}

// read reads the records with the keys in one statement.
func (s *Store) read(ctx context.Context, conn *pgxpool.Conn, keys []kv.Key) (found, error) {
	var c columns
	f := found{records: make([]kv.Record, len(keys))}
	for i, k := range keys {
		f.records[i].Key = k
		c.add(k)
	}
	var err error
	f.stamp, err = s.query(ctx, conn, func(at int, r kv.Record) {
		f.records[at].Version, f.records[at].Value = r.Version, r.Value
	}, readRecords, s.durable, c.kinds, c.names, c.subs)
	return f, err
}

// connectToRead returns what sends a group of reads: what all have asked for is from one moment.
func (s *Store) connectToRead(ctx context.Context) (func(context.Context, []*member[[]kv.Key, found]) bool, error) {
	conn, err := s.ready(ctx)
	return func(ctx context.Context, group []*member[[]kv.Key, found]) bool {
		defer conn.Release()
		var keys []kv.Key
		for _, m := range group {
			keys = append(keys, m.ask...)
		}
		if len(group) == 0 {
			return false
		}
		all, err := s.read(ctx, conn, keys)
		for _, m := range group {
			switch n := len(m.ask); {
			case err == nil:
				m.answer = found{all.records[:n:n], all.stamp}
				all.records = all.records[n:]
			case rolledBack(err):
				m.alone = true
			default:
				m.err = err
			}
		}
		return false
	}, err
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
	var stamp kv.Stamp
	conn, err := s.ready(ctx)
	if err == nil {
		defer conn.Release()
		stamp, err = s.query(ctx, conn, found, listRecords, s.durable, from.kinds, from.names, from.subs, to.names, to.subs, most)
	}
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "list", err)
	}
	return lists, stamp, nil
}

// query calls found for each row of a statement that only reads, with the place, from 0, of
// the key or range that it belongs to.
func (s *Store) query(ctx context.Context, conn *pgxpool.Conn, found func(int, kv.Record), statement string, args ...any) (kv.Stamp, error) {
	var stamp kv.Stamp
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
	m := &member[transaction, kv.Outcome]{ctx: ctx, ask: transaction{t.Incarnation, changes(t)}, urgency: t.Urgency}
	alone := false
	for _, c := range m.ask.changes {
		m.keys, m.bytes = append(m.keys, c.key), m.bytes+len(c.value)
		alone = alone || c.key.Kind == kv.Commands
	}
	var err error
	if !alone {
		alone, err = s.commits.do(m)
	}
	if alone {
		m.answer, err = s.commitAlone(ctx, m.ask)
	}
	if err != nil {
		return kv.Outcome{}, s.failure(ctx, "commit", err)
	}
	return m.answer, nil
}

// A transaction is what commit_records decides.
type transaction struct {
	incarnation string
	changes     []change
}

// commitAlone waits for the keys of a transaction. It repeats one that has certainly changed
// nothing.
func (s *Store) commitAlone(ctx context.Context, t transaction) (kv.Outcome, error) {
	select {
	case s.single <- struct{}{}:
		defer func() { <-s.single }()
	case <-ctx.Done():
		return kv.Outcome{}, notSent{ctx.Err()}
	}
	for left := attempts; ; left-- {
		o, err := s.commit(ctx, t)
		if err == nil || left == 1 || !changedNothing(err) || ctx.Err() != nil {
			return o, err
		}
	}
}

func (s *Store) commit(ctx context.Context, t transaction) (o kv.Outcome, err error) {
	conn, err := s.ready(ctx)
	if err != nil {
		return o, err
	}
	defer conn.Release()
	args := append([]any{t.incarnation, s.durable, patience(ctx)}, arrays(t)...)
	var clock int64
	err = conn.QueryRow(ctx, s.text(commitRecords), inline(args)...).Scan(&o.Won, &o.Version, &o.Stamp.Incarnation, &clock)
	o.Stamp.Now = time.UnixMicro(clock)
	return o, err
}

// A verdict is what commit_group answers of one transaction.
type verdict struct {
	kv.Outcome
	decided bool // else one of its keys is locked
}

// connectToCommit returns what sends a group of transactions. Their verdicts count when the rows are
// closed without an error: the server has then said that it has committed.
func (s *Store) connectToCommit(ctx context.Context) (func(context.Context, []*member[transaction, kv.Outcome]) bool, error) {
	conn, err := s.ready(ctx)
	return func(ctx context.Context, group []*member[transaction, kv.Outcome]) bool {
		defer conn.Release()
		if len(group) == 0 {
			return false
		}
		verdicts, err := s.commitGroup(ctx, conn, group)
		for i, m := range group {
			switch {
			case err == nil && verdicts[i].decided:
				m.answer = verdicts[i].Outcome
			case err == nil, rolledBack(err):
				m.alone = true
			default:
				m.err = err
			}
		}
		return code(err) == outOfMemory
	}, err
}

func (s *Store) commitGroup(ctx context.Context, conn *pgxpool.Conn, group []*member[transaction, kv.Outcome]) ([]verdict, error) {
	var lives []string
	var sizes []int
	var list []transaction
	shortest := int64(0)
	for _, m := range group {
		lives, sizes, list = append(lives, m.ask.incarnation), append(sizes, len(m.ask.changes)), append(list, m.ask)
		if p := patience(m.ctx); shortest == 0 || p > 0 && p < shortest {
			shortest = p
		}
	}
	args := append([]any{s.durable, shortest, lives, sizes}, arrays(list...)...)
	rows, err := conn.Query(ctx, s.text(commitGroup), inline(args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v verdict, err error) {
		var clock int64
		err = row.Scan(&v.decided, &v.Won, &v.Version, &v.Stamp.Incarnation, &clock)
		v.Stamp.Now = time.UnixMicro(clock)
		return v, err
	})
}

// arrays are the changes of transactions as the functions take them.
func arrays(list ...transaction) []any {
	var ops, values []string
	var wanted []int64
	var keys columns
	for _, t := range list {
		for _, c := range t.changes {
			keys.add(c.key)
			ops, wanted, values = append(ops, c.op), append(wanted, c.wanted), append(values, string(c.value))
		}
	}
	return []any{ops, keys.kinds, keys.names, keys.subs, wanted, values}
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
