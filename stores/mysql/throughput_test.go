package mysql

import (
	"fmt"
	"testing"
)

// TestThroughput measures claims beside two UPDATEs of a row by its key, which is what a lock in a table
// costs: docs/stores.md.
func TestThroughput(t *testing.T) {
	t.Parallel()
	w, on := newWorld(t)
	on.Exec(t, "CREATE DATABASE peer", "CREATE TABLE peer.locks (name VARCHAR(100) PRIMARY KEY, held INT NOT NULL)")
	for n := range 16 {
		on.Exec(t, fmt.Sprintf("INSERT INTO peer.locks VALUES ('%d', 0)", n))
	}
	db := on.DB(t)
	db.SetMaxIdleConns(16)
	w.Throughput(t, "two UPDATEs", func(name string) error {
		for _, held := range []int{1, 0} {
			if _, err := db.ExecContext(t.Context(), "UPDATE peer.locks SET held = ? WHERE name = ?", held, name); err != nil {
				return err
			}
		}
		return nil
	})
}
