// Package finish_test ends runs in transactions of a real PostgreSQL.
package finish_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/quorate/quorate/dev/integration/sqltest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Times of leases, where a test does not choose others.
const (
	ttl     = 2400 * time.Millisecond
	timeout = 590 * time.Millisecond
	grace   = 6 * time.Second
)

// A world is a server that tests share: each has schemas of its own.
type world struct {
	*pgtest.Server
	database string        // that of the stores; empty: the server's first one
	times    claims.Config // of leases
	schemas  atomic.Int64
}

// url is that of the database, for its owner.
func (w *world) url() string {
	if w.database == "" {
		return w.URL()
	}
	return pgtest.URL(w.Addr(), url.User("postgres"), w.database)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: pgtest.Start(t), times: claims.Config{TTL: ttl, Grace: grace, Timeout: timeout}}
	// The settings of the application's role change nothing of what it asks for.
	if _, err := w.pool(t, w.URL()).Exec(t.Context(), "CREATE ROLE app LOGIN;"+pgtest.Odd("ROLE app")+pgtest.OddFunctions); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// A rig is a store in a schema of its own, with the table of an application, whose role may
// only end runs.
type rig struct {
	*testing.T
	world   *world
	schema  string
	cluster *single.Cluster
	pool    *pgxpool.Pool // the application's
	db      *sql.DB       // the same
}

func (w *world) rig(t *testing.T) *rig {
	t.Helper()
	return w.rigIn(t, fmt.Sprintf("Schema %d", w.schemas.Add(1)))
}

func (w *world) rigIn(t *testing.T, schema string) *rig {
	t.Helper()
	r := &rig{T: t, world: w, schema: schema}
	s, err := postgres.Open(t.Context(), postgres.Config{URL: w.url(), Schema: r.schema})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := claims.DeclareNew(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	r.cluster = r.connect()
	owner := w.pool(t, w.url())
	for _, statement := range []string{
		"CREATE TABLE {schema}.effects (tick text, token bigint)", "GRANT ALL ON {schema}.effects TO app",
		"GRANT USAGE ON SCHEMA {schema} TO app", "GRANT EXECUTE ON FUNCTION {schema}.finish_run TO app",
	} {
		if _, err := owner.Exec(t.Context(), r.text(statement)); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	app := pgtest.URL(w.Addr(), url.User("app"), cmp.Or(w.database, "postgres"))
	r.pool, r.db = w.pool(t, app), sqltest.Open(t, "pgx", app)
	return r
}

// connect opens the cluster as a replica does.
func (r *rig) connect() *single.Cluster {
	r.Helper()
	s, err := postgres.Open(r.Context(), postgres.Config{URL: r.world.url(), Schema: r.schema})
	if err != nil {
		r.Fatal(err)
	}
	c, err := single.Open(s, r.world.times, nil)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// text is a statement with the schema.
func (r *rig) text(statement string) string { return schemaIn(statement, r.schema) }

// effects counts what transactions have left.
func (r *rig) effects() (n int) {
	r.Helper()
	if err := r.pool.QueryRow(r.Context(), r.text("SELECT count(*) FROM {schema}.effects")).Scan(&n); err != nil {
		r.Fatal(err)
	}
	return n
}

// entries are those of the job in the ledger, the newest first.
func (r *rig) entries(job string) []ledger.Entry {
	r.Helper()
	query := ledger.Query{Job: job, Limit: 100}
	list, err := r.cluster.Ledger.Runs(r.Context(), query)
	for n := 0; n < 5 && errors.Is(err, locking.ErrNoQuorum); n++ { // a busy machine answers late
		list, err = r.cluster.Ledger.Runs(r.Context(), query)
	}
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// A transaction is one of pgx or of database/sql.
type transaction struct {
	exec             func(ctx context.Context, statement string, args ...any) error
	finish           func(ctx context.Context, run jobs.Run) error
	commit, rollback func(context.Context) error
}

// A driver begins transactions.
type driver func(ctx context.Context, r *rig, level string) (transaction, error)

func drivers() map[string]driver {
	return map[string]driver{"pgx": inPgx, "database_sql": inSQL}
}

// levels are the isolation levels.
func levels() map[string]sql.IsolationLevel {
	return map[string]sql.IsolationLevel{
		"read committed": sql.LevelReadCommitted, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
	}
}

func inPgx(ctx context.Context, r *rig, level string) (transaction, error) {
	tx, err := r.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(level)})
	if err != nil {
		return transaction{}, err
	}
	return ofPgx(tx), nil
}

func ofPgx(tx pgx.Tx) transaction {
	return transaction{
		exec: func(ctx context.Context, statement string, args ...any) error {
			_, err := tx.Exec(ctx, statement, args...)
			return err
		},
		finish: func(ctx context.Context, run jobs.Run) error {
			return sqlfence.Finish(ctx, tx.Exec, run)
		},
		commit: tx.Commit, rollback: tx.Rollback,
	}
}

func inSQL(ctx context.Context, r *rig, level string) (transaction, error) {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: levels()[level]})
	if err != nil {
		return transaction{}, err
	}
	return transaction{
		exec: func(ctx context.Context, statement string, args ...any) error {
			_, err := tx.ExecContext(ctx, statement, args...)
			return err
		},
		finish: func(ctx context.Context, run jobs.Run) error {
			return sqlfence.Finish(ctx, tx.ExecContext, run)
		},
		commit:   func(context.Context) error { return tx.Commit() },
		rollback: func(context.Context) error { return tx.Rollback() },
	}, nil
}
