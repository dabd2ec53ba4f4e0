// Package finish_test ends runs in transactions of a real PostgreSQL.
package finish_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/quorate/quorate/dev/integration/sqltest"
	"github.com/quorate/quorate/dev/testkit/finishtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/sqlfence"
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

// app is the URL of the application's role at an address.
func (w *world) app(addr string) string {
	return pgtest.URL(addr, url.User("app"), cmp.Or(w.database, "postgres"))
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: pgtest.Start(t), times: finishtest.Times}
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
	r.pool = w.pool(t, w.app(w.Addr()))
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
func (r *rig) text(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", pgx.Identifier{r.schema}.Sanitize())
}

// effects counts what transactions have left.
func (r *rig) effects() (n int) {
	r.Helper()
	if err := r.pool.QueryRow(r.Context(), r.text("SELECT count(*) FROM {schema}.effects")).Scan(&n); err != nil {
		r.Fatal(err)
	}
	return n
}

// effect leaves one.
const effect = "INSERT INTO {schema}.effects VALUES ('x', 1)"

// A driver begins transactions at an isolation level.
type driver func(r *rig, url, level string) func(context.Context) (finishtest.Tx, error)

func drivers() map[string]driver {
	return map[string]driver{"pgx": inPgx, "database_sql": inSQL}
}

// readCommitted is the level at which each statement has a snapshot of its own.
const readCommitted = "read committed"

// levels are the isolation levels.
func levels() map[string]sql.IsolationLevel {
	return map[string]sql.IsolationLevel{
		readCommitted: sql.LevelReadCommitted, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
	}
}

type pgxTx struct{ pgx.Tx }

func (t pgxTx) Finish(ctx context.Context, run jobs.Run) error {
	return sqlfence.Finish(ctx, t.Exec, run)
}

func inPgx(r *rig, url, level string) func(context.Context) (finishtest.Tx, error) {
	pool := r.world.pool(r.T, url)
	return func(ctx context.Context) (finishtest.Tx, error) {
		tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(level)})
		if err == nil {
			_, err = tx.Exec(ctx, r.text(effect))
		}
		return pgxTx{tx}, err
	}
}

type sqlTx struct{ *sql.Tx }

func (t sqlTx) Finish(ctx context.Context, run jobs.Run) error {
	return sqlfence.Finish(ctx, t.ExecContext, run)
}

func (t sqlTx) Commit(context.Context) error { return t.Tx.Commit() }

func (t sqlTx) Rollback(context.Context) error { return t.Tx.Rollback() }

func inSQL(r *rig, url, level string) func(context.Context) (finishtest.Tx, error) {
	db := sqltest.Open(r.T, "pgx", url)
	return func(ctx context.Context) (finishtest.Tx, error) {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: levels()[level]})
		if err == nil {
			_, err = tx.ExecContext(ctx, r.text(effect))
		}
		return sqlTx{tx}, err
	}
}

// place has transactions of a driver, at a level.
func (r *rig) place(with driver, level string) finishtest.Place {
	p := finishtest.Place{
		Name: r.schema, Cluster: r.cluster, Open: r.connect, Addr: r.world.Addr(), Effects: r.effects,
		Connect: func(addr string) func(context.Context) (finishtest.Tx, error) {
			// A notice would come before the reply to COMMIT, and be cut off instead of it.
			return with(r, r.world.app(addr)+"&client_min_messages=error", level)
		},
	}
	if level != readCommitted {
		p.Repeats = func(err error) bool { return code(err) == "40001" }
	}
	return p
}

// newCase returns a run whose claim is held.
func (r *rig) newCase(ttl time.Duration) *finishtest.Case {
	r.Helper()
	return finishtest.NewCase(r.T, r.place(inPgx, readCommitted), ttl)
}
