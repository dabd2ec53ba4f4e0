package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// DefaultTable is the guard's table unless Guard.Table is set.
const DefaultTable = "quorate_fence"

// ErrNoTable is what a guard returns if its table is missing, joined with the
// database's error.
var ErrNoTable = errors.New("the table of the fencing guard is missing")

// A Guard remembers the largest token of each resource in a table. It implements
// fence.Guard, but only Do and Check make check and write one step.
type Guard struct {
	// DB holds the data to guard. Required.
	DB *sql.DB
	// Dialect of the database. Default: derived from DB's driver.
	Dialect Dialect
	// Table of the guard, with a schema before it if necessary: letters, digits,
	// underscores, dots. Default: DefaultTable.
	Table string
	// Tx are the options of Do's transactions. Default: the database's.
	Tx *sql.TxOptions
}

// Do runs fn in a transaction, and commits it if fn returned nil. It returns a
// *fence.StaleError without calling fn if b's token is stale. Otherwise it returns the
// error of fn or of the database. If the commit itself fails, it is unknown whether the
// work was done.
func Do(ctx context.Context, db *sql.DB, b fence.Bearer, fn func(tx *sql.Tx) error) error {
	return Guard{DB: db}.Do(ctx, b, fn)
}

// Do is the function Do with this guard's settings.
func (g Guard) Do(ctx context.Context, b fence.Bearer, fn func(tx *sql.Tx) error) error {
	g, err := g.withDefaults()
	if err != nil {
		return err
	}
	if _, _, err := fence.Of(b); err != nil {
		return err
	}
	tx, err := g.DB.BeginTx(ctx, g.Tx)
	if err != nil {
		return fmt.Errorf("beginning a guarded transaction: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back; else its cause is returned
	if err := g.check(ctx, tx, b); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing a guarded transaction: %w", err)
	}
	return nil
}

// Check makes your own transaction a guarded one. Call it before anything else in tx.
// If it returns an error, roll tx back.
func (g Guard) Check(ctx context.Context, tx *sql.Tx, b fence.Bearer) error {
	g, err := g.withDefaults()
	if err != nil {
		return err
	}
	return g.check(ctx, tx, b)
}

// Admit remembers b's token or refuses it, as a fence.Guard does.
func (g Guard) Admit(ctx context.Context, b fence.Bearer) error {
	return g.Do(ctx, b, func(*sql.Tx) error { return nil })
}

func (g Guard) check(ctx context.Context, tx *sql.Tx, b fence.Bearer) error {
	resource, token, err := fence.Of(b)
	if err != nil {
		return err
	}
	seen, err := g.raise(ctx, tx, resource, token)
	if err != nil {
		return fmt.Errorf("checking the fencing token for %s: %w", resource, g.explain(err))
	}
	if seen > token {
		return fence.Refused(ctx, &fence.StaleError{Resource: resource, Token: token, Seen: seen})
	}
	return nil
}

// raise raises the resource's row to the token, locks it, and returns its token.
func (g Guard) raise(ctx context.Context, tx *sql.Tx, resource string, token locking.Token) (locking.Token, error) {
	s := g.Dialect.statements(g.Table)
	raised, err := tx.ExecContext(ctx, s.raise, s.raiseArgs(resource, int64(token))...)
	if err != nil {
		return 0, err
	}
	if n, err := raised.RowsAffected(); s.countTells && err == nil && n == 1 {
		return token, nil
	}
	var seen int64
	err = tx.QueryRowContext(ctx, s.read, resource).Scan(&seen)
	return locking.Token(seen), err
}

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

func (g Guard) withDefaults() (Guard, error) {
	if g.DB == nil {
		return g, errors.New("sqlfence: the guard has no DB")
	}
	if g.Table == "" {
		g.Table = DefaultTable
	}
	if !tableName.MatchString(g.Table) {
		return g, fmt.Errorf("sqlfence: table %q: use letters, digits and underscores, with the schema and a dot before it if need be", g.Table)
	}
	if g.Dialect == 0 {
		g.Dialect = dialectOf(g.DB)
	}
	if g.Dialect < PostgreSQL || g.Dialect > SQLite {
		return g, fmt.Errorf("sqlfence: cannot tell the dialect of driver %T: set Guard.Dialect", g.DB.Driver())
	}
	return g, nil
}

// Schema returns the statement that creates the table DefaultTable if it does not
// exist, for a migration.
func Schema(d Dialect) string { return schema(d, DefaultTable) }

func schema(d Dialect, table string) string {
	// MySQL's text ignores case and trailing spaces, which would mix up resources.
	resource := "TEXT"
	if d == MySQL {
		resource = "VARBINARY(255)"
	}
	return "CREATE TABLE IF NOT EXISTS " + table + " (resource " + resource + " NOT NULL PRIMARY KEY, token BIGINT NOT NULL)"
}

// CreateTable creates the table DefaultTable if it does not exist.
func CreateTable(ctx context.Context, db *sql.DB) error { return Guard{DB: db}.CreateTable(ctx) }

// CreateTable creates the guard's table if it does not exist.
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

// explain says what to do if the table is missing. It matches texts and codes of the
// databases, since importing the drivers' error types would add dependencies.
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
