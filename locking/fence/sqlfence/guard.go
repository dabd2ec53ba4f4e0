package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// DefaultTable is the guard's table unless a Guard names another.
const DefaultTable = "quorate_fence"

// ErrNoTable is what a guard returns, joined with the database's own error,
// when its table is missing.
var ErrNoTable = errors.New("the table of the fencing guard is missing")

// A Guard remembers the largest token of each resource in a table. It is a
// fence.Guard, but Do is what makes check and write one step.
type Guard struct {
	// DB is the database with the data to be guarded. Required.
	DB *sql.DB
	// Dialect of the database. Default: what DB's driver tells.
	Dialect Dialect
	// Table of the guard, with a schema before it if need be: letters, digits,
	// underscores, dots. Default: DefaultTable.
	Table string
	// Tx are the options of Do's transactions. Default: the database's.
	Tx *sql.TxOptions
}

// Do runs fn in a transaction that is committed if b's token was not stale and
// fn returned nil. It returns a *fence.StaleError without calling fn if it was,
// else what fn or the database returned. After an error of the commit itself
// nobody can tell whether fn's work was done.
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

// Check makes a transaction of your own a guarded one. Call it before anything
// else in tx; if it returns an error, roll tx back.
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

// raise raises the resource's row to the token, locks it, and returns what it
// holds now.
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
