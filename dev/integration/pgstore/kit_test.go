// Package pgstore_test holds the tests of the store on PostgreSQL.
package pgstore_test

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
)

// A world is a server that tests share: each has schemas of its own.
type world struct {
	*pgtest.Server
	schemas atomic.Int64
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	for name, test := range map[string]func(*testing.T, *world){
		"Conforms": conforms, "ConformsBehindPgBouncer": conformsBehindPgBouncer,
		"LedgerKits": ledgerKits, "LeastPrivileges": leastPrivileges, "HiddenTimeline": hiddenTimeline, "Secrets": secrets,
		"Migrate": migrate, "MigrateAtOnce": migrateAtOnce, "SetUpOnAPool": setUpOnAPool, "Script": script, "NotMigrated": notMigrated, "NewerSchema": newerSchema, "OthersRights": othersRights, "OthersSchema": othersSchema,
		"CutOff": cutOff, "PoolerLostServer": poolerLostServer, "Patience": patience, "Exhausted": exhausted, "Settings": strongerSettings, "OddSettings": oddSettings, "RefusedSettings": refusedSettings, "ChangedSettings": changedSettings, "Views": views, "ViewsAgree": viewsAgree, "ViewsAreBarriers": viewsAreBarriers, "Commands": commandsConform, "Rows": rows, "History": history,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// conforms runs the kit with the role of a replica.
func conforms(t *testing.T, w *world) {
	b := kvtest.Backend{New: func(t testing.TB) kv.Store { return w.open(t, w.urlAs("replica")) }, Rounds: 300}
	if !testing.Short() {
		b.Rounds = 2000
	}
	kvtest.Run(t, b)
}

func conformsBehindPgBouncer(t *testing.T, w *world) {
	url := w.Bouncer(t)
	kvtest.Run(t, kvtest.Backend{
		New:    func(t testing.TB) kv.Store { return w.open(t, url) },
		Rounds: 200,
	})
}

// urlAs is the URL for another role.
func (w *world) urlAs(role string) string {
	return pgtest.URL(w.Addr(), url.UserPassword(role, "hush"), "postgres")
}

// schema names a schema that nobody has. It needs quotes.
func (w *world) schema() string { return fmt.Sprintf("Schema %d", w.schemas.Add(1)) }

// open opens a store in a schema of its own, which its owner has set up for replicas.
func (w *world) open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	return w.openIn(t, w.migrated(t), url)
}

func (w *world) migrated(t testing.TB) (schema string) {
	t.Helper()
	schema = w.schema()
	if _, err := w.openIn(t, schema, w.URL()).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.exec(t, postgres.Grants(schema, "replica"))
	return schema
}

func (w *world) openIn(t testing.TB, schema, url string) *postgres.Store {
	t.Helper()
	return open(t, postgres.Config{URL: url, Schema: schema})
}

func open(t testing.TB, c postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// connect opens a connection without a store.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(ctx) // the server may be gone
	})
	return c
}

// exec runs statements as the owner.
func (w *world) exec(t testing.TB, sql string) {
	t.Helper()
	if _, err := connect(t, w.URL()).Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
