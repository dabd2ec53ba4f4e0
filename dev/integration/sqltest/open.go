package sqltest

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// SQLite returns the name of a database in a file, for the driver "sqlite".
func SQLite(t testing.TB) string {
	t.Helper()
	return "file:" + filepath.Join(t.TempDir(), "db") + "?_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)"
}

// Open connects to a database until the test ends.
func Open(t testing.TB, driver, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatalf("connecting to %s: %v", name, err)
	}
	return db
}
