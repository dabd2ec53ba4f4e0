package sqlfence

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Schema returns the statement that creates the table DefaultTable unless it is
// there: for a migration.
func Schema(d Dialect) string { return schema(d, DefaultTable) }

func schema(d Dialect, table string) string {
	// Names are compared byte by byte: MySQL's text ignores case and spaces at
	// the end, and would hold two resources for one.
	resource := "TEXT"
	if d == MySQL {
		resource = "VARBINARY(255)"
	}
	return "CREATE TABLE IF NOT EXISTS " + table + " (resource " + resource + " NOT NULL PRIMARY KEY, token BIGINT NOT NULL)"
}

// CreateTable creates the table DefaultTable unless it is there.
func CreateTable(ctx context.Context, db *sql.DB) error { return Guard{DB: db}.CreateTable(ctx) }

// CreateTable creates the guard's table unless it is there.
func (g Guard) CreateTable(ctx context.Context) error {
	g, err := g.withDefaults()
	if err != nil {
		return err
	}
	if _, err := g.DB.ExecContext(ctx, schema(g.Dialect, g.Table)); err != nil {
		return fmt.Errorf("creating the table of the fencing guard: %w", err)
	}
	return nil
}

// explain says what to do if err says that the table is missing. Each driver has
// its own type of error, and none of them is imported here, but the databases'
// words and codes are the same in all.
func (g Guard) explain(err error) error {
	text := err.Error()
	missing := strings.Contains(text, "42P01") || // PostgreSQL's undefined_table, as pgx writes it
		strings.Contains(text, "relation") && strings.Contains(text, "does not exist") || // and as lib/pq does
		strings.Contains(text, "Error 1146") || // MySQL's ER_NO_SUCH_TABLE
		strings.Contains(text, "no such table") // SQLite
	if !missing {
		return err
	}
	return fmt.Errorf("%w: call CreateTable once, or run %s: %w", ErrNoTable, schema(g.Dialect, g.Table), err)
}
