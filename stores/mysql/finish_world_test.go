package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// Times of leases, where a test does not choose others.
const (
	finishTTL     = 3 * time.Second
	finishTimeout = 740 * time.Millisecond
	finishGrace   = 8 * time.Second
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
	r.cluster = r.connect(claims.Config{TTL: finishTTL, Grace: finishGrace, Timeout: finishTimeout})
	r.db = w.connect(t, "app", nil)
	return r
}

// open opens the store with the rights of a replica.
func (r *finishRig) open() *server {
	r.Helper()
	return opened(r.T, source{fresh: at(as(r.world.Server, "replica", "Geheim1")), database: r.database})
}

// connect opens the cluster as a replica does.
func (r *finishRig) connect(times claims.Config) *single.Cluster {
	r.Helper()
	s, err := open(source{fresh: at(as(r.world.Server, "replica", "Geheim1")), database: r.database, timeout: times.Timeout})
	if err != nil {
		r.Fatal(err)
	}
	c, err := single.Open(s, times, nil)
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

// entries are those of a job in the ledger, the newest first.
func (r *finishRig) entries(job string) []ledger.Entry {
	r.Helper()
	list, err := patiently(func() ([]ledger.Entry, error) {
		return r.cluster.Ledger.Runs(r.Context(), ledger.Query{Job: job, Limit: 100})
	})
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// patiently repeats a call that the store has not answered: a busy machine answers late.
func patiently[T any](call func() (T, error)) (T, error) {
	v, err := call()
	for n := 0; n < 10 && errors.Is(err, locking.ErrNoQuorum); n++ {
		v, err = call()
	}
	return v, err
}

// begin begins a transaction of the application, whose snapshot is taken, with an effect.
func (r *finishRig) begin(level sql.IsolationLevel) *sql.Tx {
	r.Helper()
	return r.beginOn(r.db, level)
}

func (r *finishRig) beginOn(db *sql.DB, level sql.IsolationLevel) *sql.Tx {
	r.Helper()
	tx, err := db.BeginTx(r.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = tx.Rollback() }) // else it would hold its locks
	if _, err := tx.ExecContext(r.Context(), "INSERT INTO "+r.effects+" VALUES ('job', 1, 1)"); err != nil {
		r.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM "+r.effects).Scan(&n); err != nil {
		r.Fatal(err)
	}
	return tx
}

// settler is what the engine asks of a lease.
type settler interface {
	Settle(ctx context.Context) (note []byte, ended bool, err error)
	Database() (schema, owner string)
	Look(ctx context.Context) (has bool, seen uint64, err error)
}

// A finishCase is a run whose claim is held.
type finishCase struct {
	*finishRig
	level    sql.IsolationLevel
	lease    locking.Lease
	base     time.Time
	ttl      time.Duration // of claims; 0: finishTTL
	text     string        // of the note
	change   func(*finishtx.End)
	requests map[string][]byte // for the jobs that follow
}

func newFinishCase(r *finishRig, level sql.IsolationLevel, ttl time.Duration) *finishCase {
	r.Helper()
	c := &finishCase{finishRig: r, level: level, ttl: ttl, base: time.Now().Add(-time.Minute).Truncate(time.Second)}
	c.lease = c.mustClaim(0, false)
	return c
}

// claim claims the n-th tick of a job.
func (c *finishCase) claim(job string, n int, beside bool) (locking.Lease, error) {
	req := locking.Request{Name: job, Tick: c.base.Add(time.Duration(n) * time.Second), Beside: beside, TTL: cmp.Or(c.ttl, finishTTL), Holder: "a"}
	return c.cluster.Claims.TryAcquire(c.Context(), req)
}

func (c *finishCase) mustClaim(n int, beside bool) locking.Lease {
	c.Helper()
	l, err := patiently(func() (locking.Lease, error) { return c.claim("job", n, beside) })
	if err != nil {
		c.Fatal(err)
	}
	return l
}

// prepared is the context of a call of the function under the claim of l, and its run.
func (c *finishCase) prepared(l locking.Lease) (context.Context, jobs.Run) {
	claim := l.Claim()
	note := ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded, Finished: time.Now(), Error: c.text})
	schema, owner := l.(settler).Database()
	ctx := finishtx.With(c.Context(), func() (finishtx.End, error) {
		end := finishtx.End{
			Schema: schema, Job: claim.Name, Token: uint64(claim.Token), Owner: owner, Note: note, Requests: c.requests, Look: l.(settler).Look,
		}
		if c.change != nil {
			c.change(&end)
		}
		return end, nil
	}, schema)
	return ctx, jobs.Run{Job: claim.Name, Token: claim.Token, Tick: claim.Tick}
}

// finish finishes the run of l in tx.
func (c *finishCase) finish(tx *sql.Tx, l locking.Lease) error {
	ctx, run := c.prepared(l)
	return Finish(ctx, tx, run)
}

// end finishes the run of l in tx, and commits if that is accepted.
func (c *finishCase) end(tx *sql.Tx, l locking.Lease) error {
	c.Helper()
	if err := c.finish(tx, l); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func (c *finishCase) mustEnd(l locking.Lease) {
	c.Helper()
	if err := c.end(c.begin(), l); err != nil {
		c.Fatal(err)
	}
}

// begin is that of the rig, at the level of the case.
func (c *finishCase) begin() *sql.Tx {
	c.Helper()
	return c.finishRig.begin(c.level)
}

// wants checks the last run of the job, and how many effects there are.
func (c *finishCase) wants(outcome ledger.Outcome, effects int) {
	c.Helper()
	list := c.entries("job")
	if len(list) == 0 || list[0].Outcome != outcome {
		c.Errorf("the ledger has %+v, want %s first", list, outcome)
	}
	if n := c.countEffects(); n != effects {
		c.Errorf("%d effects, want %d", n, effects)
	}
}

// expire waits until leases that are not extended have expired.
func (c *finishCase) expire() {
	select {
	case <-time.After(cmp.Or(c.ttl, finishTTL) + 50*time.Millisecond):
	case <-c.Context().Done():
	}
}
