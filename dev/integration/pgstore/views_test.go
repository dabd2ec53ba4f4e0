package pgstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quorate/quorate/dev/testkit/storetest"
)

// views stores a ledger, and asks for it in SQL.
func views(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.urlAs("replica"))
	storetest.StoreLedger(t, s)
	c := connect(t, w.urlAs("replica"))
	for query, want := range map[string][]string{
		`SELECT concat_ws(' ', job, to_char(tick AT TIME ZONE 'UTC', 'HH24:MI'), token, attempt, outcome, reason, trigger, replica, extract(epoch FROM finished - started)) FROM S.runs ORDER BY job, token`: {
			"dead 04:00 1 1 interrupted interrupted schedule a",
			"held 04:00 1 1 running schedule a",
			"overlapping 04:00 1 1 running schedule a",
			"overlapping 05:00 2 1 interrupted interrupted schedule a",
			"report 02:00 1 1 failed timeout schedule a 60.000000",
			"report 02:00 2 2 succeeded rerun b 60.000000",
			"report 01:00 3 1 succeeded late_end manual b 60.000000",
			"trimmed 05:00 2 1 lease_lost schedule a 60.000000",
		},
		`SELECT concat_ws(' ', job, stream, to_char(tick AT TIME ZONE 'UTC', 'HH24:MI'), outcome, reason, token, runs) FROM S.ticks WHERE job = 'report' ORDER BY place`: {
			"report schedule 02:00 succeeded 2 2",
			"report schedule 03:00 skipped paused 0 0",
			"report manual 01:00 succeeded late_end 3 1",
		},
		`SELECT error FROM S.runs WHERE job = 'report' AND token = 1`:              {"it broke: \\u0000 \ufffd\ufffd"},
		`SELECT outcome FROM S.ticks WHERE job = 'odd'`:                            {"missed"},
		`SELECT DISTINCT pg_typeof(tick)::text FROM S.ticks`:                       {"timestamp with time zone"},
		`SELECT job FROM S.ticks WHERE outcome = 'running' ORDER BY tick`:          {"held", "overlapping"},
		`SELECT count(*)::text FROM S.ticks WHERE tick > now() - interval '1 day'`: {"0"},
	} {
		rows, err := c.Query(t.Context(), strings.ReplaceAll(query, "S.", pgx.Identifier{schema}.Sanitize()+"."))
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[*string])
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		var texts []string
		for _, text := range got {
			texts = append(texts, *text)
		}
		if !slices.Equal(texts, want) {
			t.Errorf("%s:\n%q, want\n%q", query, texts, want)
		}
	}
}

// A condition that tells what it sees is asked about the rows of a view only.
func viewsAreBarriers(t *testing.T, w *world) {
	schema := w.migrated(t)
	storetest.StoreLedger(t, w.openIn(t, schema, w.urlAs("replica")))
	w.exec(t, `CREATE FUNCTION public.tell(job text, place text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001
		AS 'BEGIN RAISE NOTICE ''% %'', job, place; RETURN true; END'`)
	cfg, err := pgx.ParseConfig(w.URL())
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { told = append(told, n.Message) }
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	for _, view := range []string{"ledger", "runs", "ticks"} {
		told = nil
		rows, err := c.Query(t.Context(), `SELECT job || ' ' || place FROM `+pgx.Identifier{schema, view}.Sanitize()+` WHERE public.tell(job, place::text)`)
		if err != nil {
			t.Fatal(err)
		}
		listed, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(listed) == 0 {
			t.Fatalf("%s has %q, %v", view, listed, err)
		}
		slices.Sort(told)
		slices.Sort(listed)
		if !slices.Equal(told, listed) {
			t.Errorf("%s tells of %q, and has %q", view, told, listed)
		}
	}
}

// The views say what the listings say.
func viewsAgree(t *testing.T, w *world) {
	schema := w.migrated(t)
	c := connect(t, w.urlAs("replica"))
	storetest.ViewsAgree(t, w.openIn(t, schema, w.urlAs("replica")), func(view, job string) []string {
		rows, err := c.Query(t.Context(), `SELECT concat(to_char(tick AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), ' ', outcome, ' ', reason, ' ', token)
			FROM `+pgx.Identifier{schema, view}.Sanitize()+` WHERE job = $1`, job)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return got
	})
}
