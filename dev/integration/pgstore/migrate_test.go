package pgstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/locking"
	store "github.com/quorate/quorate/stores/postgres"
)

// What is up to date stays as it is, with its records and its rights.
func migrate(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.urlAs("replica"))
	write(t, s, `1`)
	if made, err := w.openIn(t, schema, w.URL()).Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("migrated again: %v, %v", made, err)
	}
	wants(t, s, `1`)
}

func migrateAtOnce(t *testing.T, w *world) {
	const replicas = 5
	schema := w.schema()
	steps, errs := make([]int, replicas), make([]error, replicas)
	var running sync.WaitGroup
	for who := range replicas {
		s := w.openIn(t, schema, w.URL())
		running.Go(func() {
			var made []kv.Migration
			made, errs[who] = s.Migrate(t.Context())
			steps[who] = len(made)
		})
	}
	running.Wait()
	total := 0
	for who := range replicas {
		if errs[who] != nil {
			t.Error(errs[who])
		}
		total += steps[who]
	}
	if total != len(postgres.Migrations()) {
		t.Errorf("each of %d made so many steps: %v", replicas, steps)
	}
	wants(t, w.openIn(t, schema, w.URL()), "")
}

// A service sets the store up with its own pool: as new once, before any claim.
func setUpOnAPool(t *testing.T, w *world) {
	pool, err := pgxpool.New(t.Context(), w.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	const namespace = "on-a-pool"
	for _, want := range []bool{true, false} {
		if created, err := store.Migrate(t.Context(), pool, namespace); err != nil || created != want {
			t.Fatalf("migrated, new tables: %v, %v, want %v", created, err, want)
		}
	}
	server := open(t, postgres.Config{Pool: pool, Schema: namespace})
	one, err := single.Open(server, claims.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range []bool{false, true} {
		if look, err := one.Look(t.Context()); err != nil || look.VouchesAt.IsZero() != declared {
			t.Errorf("declared new: %v, and it grants ticks from %v on, %v", declared, look.VouchesAt, err)
		}
		if err := store.Init(t.Context(), pool, namespace, false); err != nil {
			t.Error(err)
		}
	}
	write(t, server, `1`)
	if err := store.Init(t.Context(), pool, namespace, false); !errors.Is(err, locking.ErrRefused) {
		t.Errorf("a store with claims is declared new: %v", err)
	}
	if _, err := store.Migrate(t.Context(), pool, "no{name"); err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("no name for a schema: %v", err)
	}
}

// An administrator can run the script instead.
func script(t *testing.T, w *world) {
	schema := w.schema()
	w.exec(t, postgres.Script(schema, 0))
	s := w.openIn(t, schema, w.URL())
	write(t, s, `1`)
	if made, err := s.Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("after the script migrated %v, %v", made, err)
	}
}

// Migrating changes nobody's rights outside of its schema.
func othersRights(t *testing.T, w *world) {
	c := connect(t, w.URL())
	w.exec(t, `CREATE SCHEMA app; CREATE FUNCTION app.price(int) RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TABLE app.orders (id int)`)
	rights := func() string {
		const all = `SELECT string_agg(line, E'\n' ORDER BY line) FROM (
			SELECT concat_ws(' ', n.nspname, proname, proacl) FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
			UNION ALL SELECT concat_ws(' ', n.nspname, relname, relacl) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
			UNION ALL SELECT concat_ws(' ', nspname, nspname, nspacl) FROM pg_namespace
			UNION ALL SELECT concat_ws(' ', 'default', defaclrole::regrole, defaclacl) FROM pg_default_acl) AS x(line)
			WHERE line !~ '^(Schema [0-9]|pg_toast|pg_temp)'`
		var text string
		if err := c.QueryRow(t.Context(), all).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := rights()
	schema := w.migrated(t)
	if after := rights(); after != before {
		t.Errorf("the rights were\n%s, and are\n%s", before, after)
	}
	var public []string
	const ofPublic = `SELECT coalesce(array_agg(proname::text), '{}') FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
		WHERE nspname = $1 AND has_function_privilege('public', p.oid, 'EXECUTE')`
	if err := c.QueryRow(t.Context(), ofPublic, schema).Scan(&public); err != nil || len(public) > 0 {
		t.Errorf("everybody may call %q, %v", public, err)
	}
}

// A schema that the application has is refused, and stays as it is.
func othersSchema(t *testing.T, w *world) {
	for _, object := range []string{`FUNCTION S.price(int) RETURNS int LANGUAGE sql AS 'SELECT 1'`, `TABLE S.orders ()`, `TYPE S.pair AS (a int)`} {
		schema := w.schema()
		quoted := pgx.Identifier{schema}.Sanitize()
		w.exec(t, `CREATE SCHEMA `+quoted+`; CREATE `+strings.ReplaceAll(object, "S.", quoted+"."))
		_, err := w.openIn(t, schema, w.URL()).Migrate(t.Context())
		if !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), schema) || !strings.Contains(err.Error(), "choose another namespace") {
			t.Errorf("beside %s: %v, want %v and what to do", object, err, kv.ErrNotReady)
		}
		if _, err := connect(t, w.URL()).Exec(t.Context(), postgres.Script(schema, 0)); err == nil {
			t.Errorf("beside %s the script is run", object)
		}
	}
	// An empty one may be made for a role that has no right to the database.
	empty := w.schema()
	w.exec(t, `CREATE ROLE landlord LOGIN PASSWORD 'hush'`)
	s := w.openIn(t, empty, w.urlAs("landlord"))
	if _, err := s.Migrate(t.Context()); !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "CREATE SCHEMA … AUTHORIZATION") {
		t.Errorf("without the right to make a schema: %v, want %v and what to do", err, kv.ErrNotReady)
	}
	w.exec(t, `CREATE SCHEMA `+pgx.Identifier{empty}.Sanitize()+` AUTHORIZATION landlord`)
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Errorf("an empty schema: %v", err)
	}
	wants(t, s, "")
}

func notMigrated(t *testing.T, w *world) {
	s := w.openIn(t, w.schema(), w.URL())
	_, _, read := s.Read(t.Context(), keyX)
	_, _, list := s.List(t.Context(), kv.All(kv.Claims))
	_, commit := s.Commit(t.Context(), kv.Txn{})
	for _, err := range []error{read, list, commit} {
		if !errors.Is(err, kv.ErrNotReady) || errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "quorate store migrate") {
			t.Errorf("%v, want %v and what to do", err, kv.ErrNotReady)
		}
	}
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, s, "")
}

// A schema of a later release is used if that release says so, and refused otherwise.
func newerSchema(t *testing.T, w *world) {
	schema := w.migrated(t)
	runs := w.openIn(t, schema, w.URL())
	wants(t, runs, "")
	known := len(postgres.Migrations())
	later := func(version, needs int) {
		w.exec(t, fmt.Sprintf(`INSERT INTO %s.migrations VALUES (%d, 'of a later release', %d)`, pgx.Identifier{schema}.Sanitize(), version, needs))
	}

	later(known+1, known)
	s := w.openIn(t, schema, w.URL())
	wants(t, s, "")
	if made, err := s.Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("the release before has migrated: %v, %v", made, err)
	}

	later(99, 98)
	s = w.openIn(t, schema, w.URL())
	_, _, read := s.Read(t.Context(), keyX)
	_, migrate := s.Migrate(t.Context())
	for _, err := range []error{read, migrate} {
		if !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "98") || !strings.Contains(err.Error(), "upgrade quorate") {
			t.Errorf("%v, want %v, the step, and what to do", err, kv.ErrNotReady)
		}
	}
	wants(t, runs, "") // a replica that runs goes on
}
