package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quorate/quorate/internal/store/single/kv"
	singleledger "github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/ledger"
)

// views stores a ledger, and asks for it in SQL.
func views(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.urlAs("replica"))
	storeLedger(t, s)
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
	storeLedger(t, w.openIn(t, schema, w.urlAs("replica")))
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
	s := w.openIn(t, schema, w.urlAs("replica"))
	storeLedger(t, s)
	c := connect(t, w.urlAs("replica"))
	l := singleledger.New(s, time.Second)
	storeUnreadable(t, s)
	for _, job := range []string{"report", "trimmed", "dead", "held", "overlapping", "odd", "garbled", "blind", "lost"} {
		for view, list := range map[string]func(context.Context, ledger.Query) ([]ledger.Entry, error){"runs": l.Runs, "ticks": l.Ticks} {
			entries, err := list(t.Context(), ledger.Query{Job: job, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, e := range entries {
				want = append(want, fmt.Sprint(e.Tick.Format(time.RFC3339), " ", e.Outcome, " ", e.Reason.Code, " ", e.Token))
			}
			rows, err := c.Query(t.Context(), `SELECT concat(to_char(tick AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), ' ', outcome, ' ', reason, ' ', token)
				FROM `+pgx.Identifier{schema, view}.Sanitize()+` WHERE job = $1`, job)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			slices.Sort(got)
			slices.Sort(want)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s of %s are %q, %v; the listing has %q", view, job, got, err, want)
			}
		}
	}
}

// storeUnreadable stores records that nobody can read, and others of their jobs.
func storeUnreadable(t *testing.T, s kv.Store) {
	t.Helper()
	_, stamp, err := s.Read(t.Context(), keyX)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC).UnixMilli()
	good := ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded, Started: time.UnixMilli(at), Finished: time.UnixMilli(at)})
	txn := kv.Txn{Incarnation: stamp.Incarnation}
	raw := func(job string, n int64, text string) {
		key := records.EntryKey(job, records.Entry{Stream: "schedule", Tick: at + n*1000, Token: uint64(n)})
		txn.Put = append(txn.Put, kv.Write{Key: key, Value: json.RawMessage(text)})
	}
	form := `{"kind":"F","stream":"schedule","tick":%d,"token":%d,"owner":"o","note":%s}`
	for n, note := range []string{
		string(good), `{"tick":"abc"}`, `{"started":1e400}`, `{"finished":99999999999999999}`, `{"started":253402300800000}`, `{"replica":5}`, `{"reason":"x"}`,
		`{"tries":"x"}`, `{"error":["x"]}`, `{"v":3}`, `[]`, `"text"`, `5`, `{"trigger":{}}`, `{"parent":1.5}`, `{"outcome":7}`, `{"reason":{"c":1}}`, string(good),
	} {
		raw("garbled", int64(n+1), fmt.Sprintf(form, at+int64(n+1)*1000, n+1, note))
	}
	for n, text := range []string{`5`, `[]`, `"x"`, `{}`, `{"kind":"X"}`, `{"kind":5}`, `{"kind":"F","rank":"x"}`, `null`} {
		raw("garbled", int64(n+30), text)
	}
	for job, text := range map[string]string{"blind": `{"streams":5}`, "lost": `[]`} {
		txn.Put = append(txn.Put, kv.Write{Key: records.ClaimsKey(job), Value: json.RawMessage(text)})
		raw(job, 1, fmt.Sprintf(`{"kind":"S","stream":"schedule","tick":%d,"token":1,"owner":"o","note":{"v":2}}`, at+1000))
		raw(job, 2, fmt.Sprintf(form, at+2000, 2, good))
		txn.Put = append(txn.Put, kv.Write{Key: kv.Key{Kind: kv.Logs, Name: job}, Value: json.RawMessage(`{"trimmed":"x"}`)})
	}
	if o, err := s.Commit(t.Context(), txn); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
}

// storeLedger stores runs that have ended, that go on, and whose replica has died, and
// ticks that did not run.
func storeLedger(t *testing.T, s kv.Store) {
	t.Helper()
	_, stamp, err := s.Read(t.Context(), keyX)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC)
	run := func(outcome ledger.Outcome, trigger ledger.Trigger, replica string) ledger.Entry {
		return ledger.Entry{Outcome: outcome, Trigger: trigger, Replica: replica, Started: at, Finished: at.Add(time.Minute)}
	}
	failed, asked := run(ledger.Failed, ledger.BySchedule, "a"), run(ledger.Succeeded, ledger.ByManual, "b")
	failed.Error, failed.Reason = "it broke: \\u0000 \x00\x00", ledger.Reason{Code: ledger.CodeTimeout}
	asked.Tick, asked.Order = at.Add(-time.Hour), at.Add(9*time.Hour)
	begun := ledger.EncodeNote(ledger.Entry{Trigger: ledger.BySchedule, Replica: "a", Started: at})
	paused := ledger.Entry{Outcome: ledger.Skipped, Reason: ledger.Reason{Code: ledger.CodePaused}}
	four, five := at.Add(2*time.Hour).UnixMilli(), at.Add(3*time.Hour).UnixMilli()
	late := stamp.Now.Add(time.Hour).UnixMilli()

	txn := kv.Txn{Incarnation: stamp.Incarnation}
	entry := func(job string, e records.Entry) { txn.Put = append(txn.Put, records.Put(records.EntryKey(job, e), e)) }
	entry("report", records.Entry{Kind: records.Finished, Stream: "schedule", Tick: at.UnixMilli(), Token: 1, Note: ledger.EncodeNote(failed)})
	entry("report", records.Entry{Kind: records.RanOut, Stream: "schedule", Tick: at.UnixMilli(), Token: 2, Note: ledger.EncodeNote(run(ledger.Succeeded, ledger.ByRerun, "b"))})
	entry("report", records.Entry{Kind: records.Late, Stream: "manual", Tick: asked.Order.UnixMilli(), Token: 3, Note: ledger.EncodeNote(asked)})
	entry("report", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: at.Add(time.Hour).UnixMilli(), Rank: 3, Note: ledger.EncodeNote(paused)})
	entry("report", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: at.UnixMilli(), Rank: 9, Note: ledger.EncodeNote(paused)})
	lost := run(ledger.LeaseLost, ledger.BySchedule, "a")
	entry("trimmed", records.Entry{Kind: records.Late, Stream: "schedule", Tick: five, Token: 2, Note: ledger.EncodeNote(lost)})
	entry("trimmed", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: four, Note: ledger.EncodeNote(paused)})
	entry("trimmed", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: four + 1000, Note: ledger.EncodeNote(paused)})
	txn.Put = append(txn.Put, kv.Write{Key: kv.Key{Kind: kv.Logs, Name: "trimmed"}, Value: json.RawMessage(fmt.Sprintf(`{"trimmed":%d}`, four))})
	entry("odd", records.Entry{Kind: records.NotRun, Stream: "schedule", Tick: four, Note: json.RawMessage(`{"v":2,"outcome":"missed","of_a_later_release":[1]}`)})
	for job, c := range map[string]records.Claims{
		"dead": {Streams: map[string]records.Claim{"schedule": {Stream: "schedule", Tick: four, Token: 1, Owner: "o", Ended: "OK"}}},
		"held": {Streams: map[string]records.Claim{"schedule": {Stream: "schedule", Tick: four, Token: 1, Owner: "o"}}},
		"overlapping": {
			Streams: map[string]records.Claim{"schedule": {Stream: "schedule", Tick: five, Token: 2, Owner: "p", Overlaps: true}},
			Earlier: []records.Claim{{Stream: "schedule", Tick: four, Token: 1, Owner: "o", Overlaps: true}},
		},
	} {
		txn.Put = append(txn.Put, records.Put(records.ClaimsKey(job), c))
		entry(job, records.Entry{Kind: records.Started, Stream: "schedule", Tick: four, Token: 1, Owner: "o", Note: begun})
		for _, claim := range c.All() {
			lease := records.Lease{Owner: claim.Owner, Token: claim.Token, Until: late}
			if claim.Owner == "p" {
				lease.Until = stamp.Now.Add(-time.Second).UnixMilli()
				entry(job, records.Entry{Kind: records.Started, Stream: "schedule", Tick: five, Token: 2, Owner: "p", Note: begun})
			}
			txn.Put = append(txn.Put, records.Put(records.LeaseKey(job, claim), lease))
		}
	}
	if o, err := s.Commit(t.Context(), txn); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
}
