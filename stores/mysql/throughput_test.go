package mysql

import (
	"fmt"
	"testing"
)

// TestThroughput measures claims beside an UPDATE of a row by its key, with as many connections: docs/performance.md.
func TestThroughput(t *testing.T) {
	t.Parallel()
	w, on := newWorld(t)
	on.Exec(t, "CREATE DATABASE peer", "CREATE TABLE peer.counters (name VARCHAR(100) PRIMARY KEY, n INT NOT NULL)")
	for n := range 64 {
		on.Exec(t, fmt.Sprintf("INSERT INTO peer.counters VALUES ('%d', 0)", n))
	}
	db := on.DB(t)
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	w.Throughput(t, "an UPDATE", func(name string) error {
		_, err := db.ExecContext(t.Context(), "UPDATE peer.counters SET n = n + 1 WHERE name = ?", name)
		return err
	}, 1, 16, 64)
}
