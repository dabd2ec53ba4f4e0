package integration_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/integration/sqltest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/fencetest"
	"github.com/quorate/quorate/locking/fence/sqlfence"
)

// A database is one that the guard speaks to.
type database struct {
	name, driver string
	start        func(testing.TB) string
	dialect      sqlfence.Dialect
	upsert, read string // of the sink's values
	isolation    []sql.IsolationLevel
}

func databases() []database {
	return []database{
		{
			"postgres", "pgx", sqltest.Postgres, sqlfence.PostgreSQL,
			"INSERT INTO notes VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET text = EXCLUDED.text",
			"SELECT text FROM notes WHERE resource = $1",
			[]sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
		},
		{
			"mariadb", "mysql", sqltest.MariaDB, sqlfence.MySQL,
			"INSERT INTO notes VALUES (?, ?) ON DUPLICATE KEY UPDATE text = VALUES(text)",
			"SELECT text FROM notes WHERE resource = ?",
			[]sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
		},
		{
			"sqlite", "sqlite", sqltest.SQLite, sqlfence.SQLite,
			"INSERT INTO notes VALUES (?, ?) ON CONFLICT (resource) DO UPDATE SET text = excluded.text",
			"SELECT text FROM notes WHERE resource = ?",
			[]sql.IsolationLevel{sql.LevelDefault},
		},
	}
}

// sink keeps notes in a table of the database.
type sink struct {
	database
	sqlfence.Guard
}

func newSink(t testing.TB, d database, db *sql.DB, level sql.IsolationLevel) sink {
	t.Helper()
	s := sink{d, sqlfence.Guard{DB: db, Tx: &sql.TxOptions{Isolation: level}}}
	for _, statement := range []string{
		"DROP TABLE IF EXISTS quorate_fence", "DROP TABLE IF EXISTS notes", sqlfence.Schema(d.dialect),
		"CREATE TABLE notes (resource " + map[bool]string{true: "VARBINARY(255)", false: "TEXT"}[d.dialect == sqlfence.MySQL] + " PRIMARY KEY, text TEXT)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return s
}

func (s sink) Write(ctx context.Context, b fence.Bearer, value string) error {
	return s.WriteSlowly(ctx, b, value, func() {})
}

func (s sink) WriteSlowly(ctx context.Context, b fence.Bearer, value string, pause func()) error {
	for {
		err := s.Do(ctx, b, func(tx *sql.Tx) error {
			pause()
			resource, _ := b.Fence()
			_, err := tx.ExecContext(ctx, s.upsert, resource, value)
			return err
		})
		if !serialization(err) {
			return err
		}
	}
}

// serialization reports whether a transaction is to be tried again, as PostgreSQL
// asks of everybody at the two strict levels.
func serialization(err error) bool {
	return err != nil && strings.Contains(err.Error(), "SQLSTATE 40001")
}

func (s sink) Read(ctx context.Context, resource string) (string, error) {
	var text string
	err := s.DB.QueryRowContext(ctx, s.read, resource).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

func TestSQLGuards(t *testing.T) {
	t.Parallel()
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			db := sqltest.Open(t, d.driver, d.start(t))
			for _, level := range d.isolation {
				t.Run(level.String(), func(t *testing.T) {
					fencetest.Run(t, func(t testing.TB) fencetest.Sink { return newSink(t, d, db, level) })
				})
			}
			t.Run("failed write is undone", func(t *testing.T) { undone(t, newSink(t, d, db, sql.LevelDefault)) })
			t.Run("table", func(t *testing.T) { table(t, d, db) })
			t.Run("order under load", func(t *testing.T) { orderUnderLoad(t, newSink(t, d, db, sql.LevelDefault)) })
			t.Run("transaction of one's own", func(t *testing.T) { ownTransaction(t, newSink(t, d, db, sql.LevelDefault)) })
		})
	}
}

func claim(resource string, token locking.Token) locking.Claim {
	return locking.Claim{Name: resource, Token: token}
}

// A transaction that fails leaves neither a value nor a token.
func undone(t *testing.T, s sink) {
	errOwn := errors.New("no more credit")
	for name, end := range map[string]func() error{
		"error": func() error { return errOwn },
		"panic": func() error { panic(errOwn) },
	} {
		if err := s.Write(t.Context(), claim(name, 5), "first"); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			err := s.Do(t.Context(), claim(name, 9), func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(t.Context(), s.upsert, name, "half"); err != nil {
					t.Error(err)
				}
				return end()
			})
			if !errors.Is(err, errOwn) {
				t.Errorf("%s: got %v, want fn's own error", name, err)
			}
		}()
		if err := s.Write(t.Context(), claim(name, 7), "second"); err != nil {
			t.Errorf("%s: token 9 counts as seen though nothing of it was: %v", name, err)
		}
		if got, err := s.Read(t.Context(), name); got != "second" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A missing table is told with the statement that makes it; creating it twice
// does no harm; another name is another guard.
func table(t *testing.T, d database, db *sql.DB) {
	other := sqlfence.Guard{DB: db, Table: "other_fence"}
	err := other.Admit(t.Context(), claim("r", 5))
	if !errors.Is(err, sqlfence.ErrNoTable) || !strings.Contains(err.Error(), "CREATE TABLE IF NOT EXISTS other_fence (") {
		t.Errorf("without the table: %v", err)
	}
	for range 2 {
		if err := other.CreateTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := sqlfence.CreateTable(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Admit(t.Context(), claim("r", 5)); err != nil {
		t.Error(err)
	}
	if err := sqlfence.Do(t.Context(), db, claim("r", 4), func(*sql.Tx) error { return nil }); err != nil {
		t.Errorf("the default table knows what the other has seen: %v", err)
	}
}

func ownTransaction(t *testing.T, s sink) {
	for _, step := range []struct {
		token locking.Token
		stale bool
	}{{7, false}, {6, true}, {7, false}} {
		tx, err := s.DB.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Check(t.Context(), tx, claim("r", step.token))
		if errors.Is(err, fence.ErrStale) != step.stale || (err != nil) != step.stale {
			t.Errorf("token %d: %v", step.token, err)
		}
		if err != nil {
			_ = tx.Rollback()
		} else if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	}
}

// Many writers, each with its own connection, add to a balance under tokens that
// they take in turn. Every admitted write counts once, and tokens commit in order.
func orderUnderLoad(t *testing.T, s sink) {
	if _, err := s.DB.ExecContext(t.Context(), "CREATE TABLE history (n INTEGER, token BIGINT)"); err != nil {
		t.Fatal(err)
	}
	results := make(chan error)
	const writers, writes = 6, 20
	for w := range writers {
		go func() {
			var err error
			for i := range writes {
				b := claim("r", locking.Token(1+i*writers+(w*5+i)%writers))
				doErr := s.Do(t.Context(), b, func(tx *sql.Tx) error {
					_, err := tx.ExecContext(t.Context(), fmt.Sprintf(
						"INSERT INTO history SELECT COUNT(*), %d FROM history", b.Token))
					return err
				})
				if !errors.Is(doErr, fence.ErrStale) {
					err = errors.Join(err, doErr)
				}
			}
			results <- err
		}()
	}
	for range writers {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	rows, err := s.DB.QueryContext(t.Context(), "SELECT n, token FROM history ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	last, count := int64(0), 0
	for ; rows.Next(); count++ {
		var n, token int64
		if err := rows.Scan(&n, &token); err != nil {
			t.Fatal(err)
		}
		if n != int64(count) || token < last {
			t.Errorf("write %d is number %d, with token %d after %d", count, n, token, last)
		}
		last = token
	}
	if err := rows.Err(); err != nil || last != writers*writes || count < writes {
		t.Errorf("%d writes, the last with token %d of %d, %v", count, last, writers*writes, err)
	}
}
