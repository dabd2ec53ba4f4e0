package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/dev/testkit/finishtest"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// A finishWorld is a server that tests share. Each has a store in a database of its own, and a table in that
// of the application.
type finishWorld struct {
	*mysqltest.Server
	stores atomic.Int64
}

func newFinishWorld(t *testing.T) *finishWorld {
	t.Helper()
	w := &finishWorld{Server: mysqltest.Start(t)}
	w.Exec(t, "CREATE USER replica IDENTIFIED BY 'Geheim1'", "CREATE USER app IDENTIFIED BY 'Geheim1'", "CREATE DATABASE shop", "GRANT ALL ON shop.* TO app")
	return w
}

// A finishRig is a store, and the connections of an application to its server.
type finishRig struct {
	*testing.T
	world    *finishWorld
	database string // of the store
	effects  string // the table of the application
	store    *server
	cluster  *single.Cluster
	db       *sql.DB // of the application
}

func (w *finishWorld) rig(t *testing.T) *finishRig {
	t.Helper()
	return w.rigIn(t, fmt.Sprintf("Store `%d`", w.stores.Add(1)))
}

func (w *finishWorld) rigIn(t *testing.T, database string) *finishRig {
	t.Helper()
	migrate(t, w.Server, database)
	r := &finishRig{T: t, world: w, database: database, effects: "shop." + quoted("effects of "+database)}
	w.Exec(t, Grants(database, "replica"), Grants(database, "app"),
		"CREATE TABLE "+r.effects+" (job VARCHAR(64), tick BIGINT, token BIGINT) ENGINE=InnoDB")
	if err := claims.DeclareNew(t.Context(), r.open()); err != nil {
		t.Fatal(err)
	}
	r.store = r.open()
	r.cluster = r.connect()
	r.db = w.connect(t, "app", nil)
	return r
}

// open opens the store with the rights of a replica.
func (r *finishRig) open() *server {
	r.Helper()
	return opened(r.T, source{fresh: at(as(r.world.Server, "replica", "Geheim1")), database: r.database})
}

// connect opens the cluster as a replica does.
func (r *finishRig) connect() *single.Cluster {
	r.Helper()
	s, err := open(source{fresh: at(as(r.world.Server, "replica", "Geheim1")), database: r.database, timeout: finishtest.Times.Timeout})
	if err != nil {
		r.Fatal(err)
	}
	c, err := single.Open(s, finishtest.Times, nil)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// connect connects a user as an application does, with settings of its own.
func (w *finishWorld) connect(t *testing.T, user string, change func(*mysql.Config)) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.Logger = user, "Geheim1", "tcp", w.SideAddr(), new(mysql.NopLogger)
	if change != nil {
		change(c)
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// countEffects counts what transactions have left.
func (r *finishRig) countEffects() (n int) {
	r.Helper()
	if err := r.db.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM "+r.effects).Scan(&n); err != nil {
		r.Fatal(err)
	}
	return n
}

// begin begins a transaction of the application, whose snapshot is taken, with an effect.
func (r *finishRig) begin(level sql.IsolationLevel) *sql.Tx {
	r.Helper()
	tx, err := r.beginOn(r.Context(), r.db, level)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = tx.Rollback() }) // else it would hold its locks
	return tx
}

func (r *finishRig) beginOn(ctx context.Context, db *sql.DB, level sql.IsolationLevel) (*sql.Tx, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return nil, err
	}
	if _, err = tx.ExecContext(ctx, "INSERT INTO "+r.effects+" VALUES ('job', 1, 1)"); err == nil {
		var n int
		err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quoted(r.database)+".records").Scan(&n)
	}
	return tx, err
}

// An appTx is a transaction of the application.
type appTx struct{ *sql.Tx }

func (t appTx) Finish(ctx context.Context, run jobs.Run) error { return Finish(ctx, t.Tx, run) }

func (t appTx) Commit(context.Context) error { return t.Tx.Commit() }

func (t appTx) Rollback(context.Context) error { return t.Tx.Rollback() }

// place has transactions at a level, in sessions whose settings are changed.
func (r *finishRig) place(level sql.IsolationLevel, change func(*mysql.Config)) finishtest.Place {
	return finishtest.Place{
		Name: r.database, Cluster: r.cluster, Open: r.connect, Addr: r.world.SideAddr(), Effects: r.countEffects, While: r.othersGoOn,
		Connect: func(addr string) func(context.Context) (finishtest.Tx, error) {
			db := r.world.connect(r.T, "app", func(c *mysql.Config) {
				if c.Addr = addr; change != nil {
					change(c)
				}
			})
			return func(ctx context.Context) (finishtest.Tx, error) {
				tx, err := r.beginOn(ctx, db, level)
				return appTx{tx}, err
			}
		},
	}
}

// newCase returns a run whose lease lasts.
func (r *finishRig) newCase() *finishtest.Case {
	r.Helper()
	return finishtest.NewCase(r.T, r.place(sql.LevelDefault, nil), finishtest.Calm)
}
