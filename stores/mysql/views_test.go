package mysql

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// reading makes a database with tables, and connects a user who may read its views only.
func reading(t *testing.T, on *mysqltest.Server, database string) (*server, *sql.DB) {
	t.Helper()
	migrate(t, on, database)
	on.Exec(t, "CREATE USER IF NOT EXISTS reader IDENTIFIED BY 'Geheim1'", in(database, "GRANT SELECT ON {database}.runs TO reader"), in(database, "GRANT SELECT ON {database}.ticks TO reader"))
	db, err := sql.Open("mysql", "reader:Geheim1@tcp("+on.Addr()+")/"+database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return opened(t, source{fresh: at(on.URL()), database: database}), db
}

// column is what a query returns, which has one column.
func column(t *testing.T, db *sql.DB, query string, args ...any) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		list = append(list, text.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}

// views stores a ledger, and asks for it in SQL, with the rights of a reader.
func views(t *testing.T, on *mysqltest.Server) {
	s, db := reading(t, on, "views")
	storetest.StoreLedger(t, s)
	for query, want := range map[string][]string{
		"SELECT CONCAT_WS(' ', job, TIME_FORMAT(tick, '%H:%i'), token, attempt, outcome, reason, `trigger`, replica, TIMESTAMPDIFF(SECOND, started, finished)) FROM runs ORDER BY job, token": {
			"dead 04:00 1 1 interrupted interrupted schedule a",
			"held 04:00 1 1 running schedule a",
			"overlapping 04:00 1 1 running schedule a",
			"overlapping 05:00 2 1 interrupted interrupted schedule a",
			"report 02:00 1 1 failed timeout schedule a 60",
			"report 02:00 2 2 succeeded rerun b 60",
			"report 01:00 3 1 succeeded late_end manual b 60",
			"trimmed 05:00 2 1 lease_lost schedule a 60",
		},
		"SELECT CONCAT_WS(' ', job, stream, TIME_FORMAT(tick, '%H:%i'), outcome, reason, token, runs) FROM ticks WHERE job = 'report' ORDER BY place": {
			"report schedule 02:00 succeeded 2 2",
			"report schedule 03:00 skipped paused 0 0",
			"report manual 01:00 succeeded late_end 3 1",
		},
		"SELECT error FROM runs WHERE job = 'report' AND token = 1":                {"it broke: \\u0000 \x00\x00"},
		"SELECT outcome FROM ticks WHERE job = 'odd'":                              {"missed"},
		"SELECT job FROM ticks WHERE outcome = 'running' ORDER BY job":             {"held", "overlapping"},
		"SELECT COUNT(*) FROM ticks WHERE tick > UTC_TIMESTAMP() - INTERVAL 1 DAY": {"0"},
		"SELECT COUNT(*) FROM ticks WHERE job = 'Report' OR outcome = 'Missed'":    {"0"},
		"SELECT data_type FROM information_schema.columns WHERE table_name = 'ticks' AND table_schema = 'views' AND column_name IN ('tick', 'place', 'started', 'finished') GROUP BY data_type": {"datetime"},
	} {
		if got := column(t, db, query); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", query, got, want)
		}
	}
	for _, table := range []string{"records", "documents", "ledger", "life"} {
		if _, err := db.ExecContext(t.Context(), "SELECT 1 FROM "+table); err == nil || !strings.Contains(err.Error(), "denied") {
			t.Errorf("a reader of %s gets %v", table, err)
		}
	}
}

// The views say what the listings say, also of records that are no JSON.
func viewsAgree(t *testing.T, on *mysqltest.Server) {
	s, db := reading(t, on, "agree")
	_, stamp, err := s.Read(t.Context(), keyX)
	if err != nil {
		t.Fatal(err)
	}
	txn := kv.Txn{Incarnation: stamp.Incarnation}
	for n, text := range []string{"{", "", "\xff", `{"kind":"F","stream":"schedule","tick":5,"token":5}`, `{"kind":"F","stream":"schedule","tick":1e3,"token":105}`} {
		key := records.EntryKey("garbled", records.Entry{Stream: "schedule", Tick: 1000, Token: uint64(101 + n)})
		txn.Put = append(txn.Put, kv.Write{Key: key, Value: json.RawMessage(text)})
	}
	if o, err := s.Commit(t.Context(), txn); err != nil || !o.Won {
		t.Fatalf("Commit = %+v, %v", o, err)
	}
	storetest.ViewsAgree(t, s, func(view, job string) []string {
		return column(t, db, "SELECT CONCAT(DATE_FORMAT(tick, '%Y-%m-%dT%H:%i:%sZ'), ' ', COALESCE(outcome, ''), ' ', COALESCE(reason, ''), ' ', token) FROM "+view+" WHERE job = ?", job)
	})
}

// However many jobs there are, a query for one reads the documents of that job.
func viewsReadOneJob(t *testing.T, on *mysqltest.Server) {
	_, db := reading(t, on, "many")
	on.Exec(t, `INSERT INTO many.records WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200)
		SELECT 'entry', CONCAT('job-', j.n), CONCAT(9000000000000 + n.n, ' schedule 0000000000000001'), 1, '{"kind":"F"}'
		FROM numbers n JOIN numbers j ON j.n <= 20`, "ANALYZE TABLE many.records")
	db.SetMaxOpenConns(1) // counters are those of a session
	read := func() (rows int) {
		for _, text := range column(t, db, "SELECT variable_value FROM information_schema.session_status WHERE variable_name IN ('HANDLER_READ_KEY', 'HANDLER_READ_NEXT')") {
			var n int
			if _, err := fmt.Sscan(text, &n); err != nil {
				t.Fatal(err)
			}
			rows += n
		}
		return rows
	}
	for _, view := range []string{"runs", "ticks"} {
		before := read()
		if got := column(t, db, "SELECT COUNT(*) FROM "+view+" WHERE job = 'job-7'"); got[0] != "200" {
			t.Errorf("%s has %s rows of the job, want 200", view, got[0])
		}
		if rows := read() - before; rows > 600 {
			t.Errorf("%s has read %d rows for the 200 of a job", view, rows)
		}
	}
}
