package pgstore_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
)

var keyX = kv.Key{Kind: kv.Claims, Name: "x"}

// write puts a value of x, whatever is there.
func write(t testing.TB, s kv.Store, value string) kv.Outcome {
	t.Helper()
	_, stamp, err := s.Read(t.Context(), keyX)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Commit(t.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: keyX, Value: json.RawMessage(value)}}})
	if err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
	return o
}

// wants checks the value of x; "" is none.
func wants(t testing.TB, s kv.Store, value string) {
	t.Helper()
	list, _, err := s.Read(t.Context(), keyX)
	if err != nil || string(list[0].Value) != value {
		t.Errorf("x is %+v, %v, want %q", list, err, value)
	}
}

// A replica may call the functions and read the views, and nothing else. What it puts in
// the way of the names is not found by the functions.
func leastPrivileges(t *testing.T, w *world) {
	schema := w.migrated(t)
	c := connect(t, w.urlAs("replica"))
	quoted := pgx.Identifier{schema}.Sanitize()
	for _, statement := range []string{
		`SELECT * FROM S.records`, `SELECT * FROM S.ledger`, `SELECT * FROM S.migrations`,
		`INSERT INTO S.records VALUES ('claim', 'x', '', 1, '1')`, `UPDATE S.records SET version = 1`, `DELETE FROM S.records`,
		`TRUNCATE S.records`, `SELECT nextval('S.versions')`, `SELECT setval('S.versions', 1)`, `DROP TABLE S.records`,
		`CREATE TABLE S.mine ()`, `SELECT S.life(false)`, `SELECT S.prepare_commit(0)`,
	} {
		if _, err := c.Exec(t.Context(), strings.ReplaceAll(statement, "S.", quoted+".")); err == nil {
			t.Errorf("a replica may %s", statement)
		}
	}
	w.exec(t, `CREATE ROLE stranger LOGIN PASSWORD 'hush'`)
	if _, _, err := w.openIn(t, schema, w.urlAs("stranger")).Read(t.Context(), keyX); !errors.Is(err, kv.ErrNotReady) ||
		!strings.Contains(err.Error(), "GRANT") || strings.Contains(err.Error(), "durable") {
		t.Errorf("a role without rights reads: %v, want %v and what to do", err, kv.ErrNotReady)
	}
	s := w.openIn(t, schema, w.urlAs("replica")+"&pool_max_conns=1")
	write(t, s, `1`)
	const trap = `CREATE TEMP TABLE records (kind text, name text, sub text, version bigint, value json);
		CREATE FUNCTION pg_temp.hashtextextended(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1/0'`
	if _, err := c.Exec(t.Context(), trap+`; SET search_path = pg_temp, `+quoted); err != nil {
		t.Fatal(err)
	}
	var value string
	read := `SELECT value FROM ` + quoted + `.read_records(false, '{claim}', '{x}', '{""}') WHERE at = 1`
	if err := c.QueryRow(t.Context(), read).Scan(&value); err != nil || value != `1` {
		t.Errorf("with tables in the way a replica reads %q, %v", value, err)
	}
	for _, view := range []string{"runs", "ticks"} {
		if _, err := c.Exec(t.Context(), `SELECT * FROM `+quoted+`.`+view); err != nil {
			t.Errorf("a replica may not read %s: %v", view, err)
		}
	}
}

// Where the server does not show its timeline, the error says what can be done, and a store
// that is declared durable works.
func hiddenTimeline(t *testing.T, w *world) {
	w.exec(t, `CREATE ROLE tenant LOGIN PASSWORD 'hush'`)
	w.exec(t, `CREATE DATABASE tenants OWNER tenant`)
	owner := connect(t, pgtest.URL(w.Addr(), url.User("postgres"), "tenants"))
	if _, err := owner.Exec(t.Context(), `REVOKE EXECUTE ON FUNCTION pg_control_system, pg_current_wal_insert_lsn FROM PUBLIC`); err != nil {
		t.Fatal(err)
	}
	tenant := strings.Replace(w.urlAs("tenant"), "/postgres?", "/tenants?", 1)
	if _, err := open(t, postgres.Config{URL: tenant}).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, err := open(t, postgres.Config{URL: tenant}).Read(t.Context(), keyX)
	if !errors.Is(err, kv.ErrNotReady) || !strings.Contains(err.Error(), "durable") {
		t.Errorf("Read = %v, want %v and what to do", err, kv.ErrNotReady)
	}
	if o := write(t, open(t, postgres.Config{URL: tenant, Durable: true}), `1`); o.Stamp.Incarnation != "durable" {
		t.Errorf("a durable store lives as %q", o.Stamp.Incarnation)
	}
}

// No error has the password, whatever the server says.
func secrets(t *testing.T, w *world) {
	for name, url := range map[string]string{
		"no such role":     strings.ReplaceAll(w.urlAs("nobody"), "hush", "Geheim1"),
		"no such database": strings.ReplaceAll(w.urlAs("replica"), "hush", "Geheim1") + "&database=none",
		"no encryption":    strings.ReplaceAll(strings.ReplaceAll(w.urlAs("replica"), "hush", "Geheim1"), "disable", "require"),
		"no rights":        strings.ReplaceAll(w.urlAs("replica"), "hush", "Geheim1"),
	} {
		s := open(t, postgres.Config{URL: url, Schema: w.schema()})
		_, err := s.Migrate(t.Context())
		if err == nil || strings.Contains(err.Error(), "Geheim1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
