package pgstore_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// However many rows there are, a call touches those that it names, and updates leave the
// index as it is.
func rows(t *testing.T, w *world) {
	schema := w.migrated(t)
	quoted := pgx.Identifier{schema}.Sanitize()
	w.exec(t, strings.ReplaceAll(`INSERT INTO S.records SELECT k, 'job' || j, lpad(n::text, 13, '0'), nextval('S.versions'), '{"kind":"N","stream":"schedule","tick":1}'
		FROM unnest('{claim,entry,log,act}'::text[]) k, generate_series(1, 20) j, generate_series(1, 200) n`, "S.", quoted+"."))
	c := connect(t, w.URL())
	if _, err := c.Exec(t.Context(), `BEGIN`); err != nil { // counters are those of a transaction
		t.Fatal(err)
	}
	const counters = `SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0), coalesce(sum(n_tup_upd - n_tup_hot_upd), 0)
		FROM pg_stat_xact_user_tables WHERE schemaname = $1 AND relname = 'records'`
	for statement, most := range map[string]int{
		`SELECT * FROM S.read_records(false, '{claim,entry}', '{job7,job7}', '{0000000000001,none}')`:                      1,
		`SELECT * FROM S.list_records(false, '{entry}', '{job7}', '{""}', '{"job7\u0001"}', '{""}', '{10}')`:               11,
		`SELECT * FROM S.list_records(false, '{act,log}', '{job7,zzz}', '{"",""}', '{job70,""}', '{"",""}', '{0,0}')`:      200,
		`SELECT * FROM S.ticks WHERE job = 'job7'`:                                                                         400,
		`SELECT S.commit_records(S.life(false), false, 0, '{put}', '{claim}', '{job7}', '{0000000000001}', '{-1}', '{1}')`: 3,
	} {
		before, _ := count(t, c, counters, schema)
		if _, err := c.Exec(t.Context(), strings.ReplaceAll(statement, "S.", quoted+".")); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		after, moved := count(t, c, counters, schema)
		if after-before > most || moved > 0 {
			t.Errorf("%s reads %d rows, want at most %d; %d updates touch the index", statement, after-before, most, moved)
		}
	}
}

func count(t *testing.T, c *pgx.Conn, query, schema string) (a, b int) {
	t.Helper()
	if err := c.QueryRow(t.Context(), query, schema).Scan(&a, &b); err != nil {
		t.Fatal(err)
	}
	return a, b
}
