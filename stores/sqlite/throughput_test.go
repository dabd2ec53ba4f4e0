package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// TestThroughput measures claims beside an UPDATE with the same durability and as many connections:
// docs/performance.md.
func TestThroughput(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "peer.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	for _, text := range []string{"CREATE TABLE peers (name TEXT PRIMARY KEY, n INTEGER)", "INSERT INTO peers WITH n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 15) SELECT i, 0 FROM n"} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	newWorld(t).Throughput(t, "an UPDATE", func(name string) error {
		_, err := db.ExecContext(t.Context(), "UPDATE peers SET n = n + 1 WHERE name = ?", name)
		return err
	}, 1, 16)
}
