package sqlite

import (
	"database/sql"
	"os"
	"testing"
)

// backup copies the database at a path into a file beside it, as the command .backup of SQLite does.
func backup(tb testing.TB, path, to string) {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(tb.Context(), "VACUUM INTO ?", to)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// replaceByCopy moves a copy of the database over it.
func replaceByCopy(tb testing.TB, path string) {
	tb.Helper()
	backup(tb, path, path+".copy")
	if err := os.Rename(path+".copy", path); err != nil {
		tb.Fatal(err)
	}
}
