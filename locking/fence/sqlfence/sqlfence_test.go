package sqlfence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
)

// The guard on real databases is tested in the module dev/integration, where
// their drivers may be imported. Here is what needs no database.

// script is a connection that records statements, and answers as told.
type script struct {
	raised int64 // rows that the upsert affects
	seen   int64 // the row afterwards
	fails  error // of the upsert
	asked  []string
}

// Drivers are distinguished by their types, as here.
type (
	PostgresDriver struct{ *script }
	MySQLDriver    struct{ *script }
	SQLiteDriver   struct{ *script }
	wrapper        struct{ *script }
)

func (s *script) Open(string) (driver.Conn, error) { return s, nil }
func (s *script) Close() error                     { return nil }

func (s *script) Begin() (driver.Tx, error) {
	s.asked = append(s.asked, "BEGIN")
	return s, nil
}

func (s *script) Commit() error {
	s.asked = append(s.asked, "COMMIT")
	return nil
}

func (s *script) Rollback() error {
	s.asked = append(s.asked, "ROLLBACK")
	return nil
}

func (s *script) Prepare(query string) (driver.Stmt, error) {
	s.asked = append(s.asked, strings.Fields(query)[0])
	return statement{s, query}, nil
}

type statement struct {
	*script
	query string
}

func (s statement) NumInput() int { return strings.Count(s.query, "?") + strings.Count(s.query, "$") }

func (s statement) Exec([]driver.Value) (driver.Result, error) {
	return driver.RowsAffected(s.raised), s.fails
}

func (s statement) Query([]driver.Value) (driver.Rows, error) { return &row{seen: s.seen}, nil }

type row struct {
	seen int64
	read bool
}

func (*row) Columns() []string { return []string{"token"} }
func (*row) Close() error      { return nil }
func (r *row) Next(to []driver.Value) error {
	if r.read {
		return errors.New("there is one row")
	}
	r.read, to[0] = true, r.seen
	return nil
}

// connector gives a test its own driver without registering it.
type connector struct {
	driver driver.Driver
	conn   *script
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.conn, nil }
func (c connector) Driver() driver.Driver                        { return c.driver }

var claim = locking.Claim{Name: "r", Token: 5}

func TestGuardedTransaction(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("own")
	drivers := map[string]func(*script) driver.Driver{
		"postgres": func(s *script) driver.Driver { return PostgresDriver{s} },
		"mysql":    func(s *script) driver.Driver { return &MySQLDriver{s} },
		"sqlite":   func(s *script) driver.Driver { return SQLiteDriver{s} },
	}
	tests := map[string]struct {
		driver string
		script script
		fn     error
		asked  string
		err    error // it must match
		text   string
	}{
		"admitted":           {"postgres", script{raised: 1}, nil, "BEGIN INSERT COMMIT", nil, ""},
		"admitted, sqlite":   {"sqlite", script{raised: 1}, nil, "BEGIN INSERT COMMIT", nil, ""},
		"admitted, mysql":    {"mysql", script{raised: 2, seen: 5}, nil, "BEGIN INSERT SELECT COMMIT", nil, ""},
		"stale":              {"postgres", script{seen: 7}, nil, "BEGIN INSERT SELECT ROLLBACK", fence.ErrStale, "token 5 refused, the sink has seen 7"},
		"stale, mysql":       {"mysql", script{raised: 1, seen: 7}, nil, "BEGIN INSERT SELECT ROLLBACK", fence.ErrStale, "token 5 refused, the sink has seen 7"},
		"own error":          {"postgres", script{raised: 1}, errOwn, "BEGIN INSERT ROLLBACK", errOwn, "own"},
		"other failure":      {"postgres", script{fails: errOwn}, nil, "BEGIN INSERT ROLLBACK", errOwn, "checking the fencing token for r: own"},
		"no table, pgx":      {"postgres", script{fails: errors.New(`relation "quorate_fence" does not exist (SQLSTATE 42P01)`)}, nil, "BEGIN INSERT ROLLBACK", sqlfence.ErrNoTable, "CREATE TABLE IF NOT EXISTS quorate_fence (resource TEXT"},
		"no table, lib/pq":   {"postgres", script{fails: errors.New(`pq: relation "quorate_fence" does not exist`)}, nil, "BEGIN INSERT ROLLBACK", sqlfence.ErrNoTable, "CreateTable"},
		"no table, mysql":    {"mysql", script{fails: errors.New("Error 1146 (42S02): Table 'x' doesn't exist")}, nil, "BEGIN INSERT ROLLBACK", sqlfence.ErrNoTable, "VARBINARY(255)"},
		"another thing gone": {"postgres", script{fails: errors.New(`role "x" does not exist`)}, nil, "BEGIN INSERT ROLLBACK", nil, "role"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &tt.script
			db := sql.OpenDB(connector{drivers[tt.driver](s), s})
			defer db.Close()
			called := false
			err := sqlfence.Do(t.Context(), db, claim, func(*sql.Tx) error {
				called = true
				return tt.fn
			})
			if (tt.text == "") != (err == nil) || tt.err != nil && !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %q", err, tt.text)
			}
			if tt.err == nil && errors.Is(err, sqlfence.ErrNoTable) {
				t.Errorf("%v is taken for a missing table", err)
			}
			if asked := strings.Join(s.asked, " "); asked != tt.asked {
				t.Errorf("asked %s, want %s", asked, tt.asked)
			}
			if want := err == nil || tt.fn != nil; called != want {
				t.Errorf("called %v, want %v", called, want)
			}
		})
	}
}

func TestGuardMistakes(t *testing.T) {
	t.Parallel()
	s := &script{raised: 1}
	postgres, wrapped := sql.OpenDB(connector{PostgresDriver{s}, s}), sql.OpenDB(connector{wrapper{s}, s})
	defer postgres.Close()
	defer wrapped.Close()
	tests := map[string]struct {
		guard  sqlfence.Guard
		bearer fence.Bearer
		want   string // "" for a guard that works
	}{
		"good":            {sqlfence.Guard{DB: postgres, Table: "fences.mark_2"}, claim, ""},
		"no database":     {sqlfence.Guard{}, claim, "no DB"},
		"table":           {sqlfence.Guard{DB: postgres, Table: "fence; DROP TABLE x"}, claim, "use letters"},
		"table with dots": {sqlfence.Guard{DB: postgres, Table: "a..b"}, claim, "use letters"},
		"unknown driver":  {sqlfence.Guard{DB: wrapped}, claim, "set Guard.Dialect"},
		"told dialect":    {sqlfence.Guard{DB: wrapped, Dialect: sqlfence.SQLite}, claim, ""},
		"no such dialect": {sqlfence.Guard{DB: wrapped, Dialect: 4}, claim, "set Guard.Dialect"},
		"no bearer":       {sqlfence.Guard{DB: postgres}, nil, fence.ErrNoToken.Error()},
	}
	for name, tt := range tests {
		s.asked = nil
		err := tt.guard.Admit(t.Context(), tt.bearer)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err != nil && slices.Contains(s.asked, "BEGIN") {
			t.Errorf("%s: the database was asked", name)
		}
	}
}

// refused is an error of PostgreSQL.
type refused string

func (r refused) Error() string    { return string(r) }
func (r refused) SQLState() string { return string(r) }

// The run knows its store: Finish calls the function in its schema. What the database of the
// transaction does not know is only a stale token if the store of the run has seen a larger one.
func TestFinishOfAClaimThatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		has  bool
		seen uint64
		err  error
		want error
		text string
	}{
		"another database": {has: true, want: sqlfence.ErrNoClaim, text: "Quorate's store has it: begin the transaction in the database of the store"},
		"forgotten":        {want: sqlfence.ErrNoClaim, text: "a failover has lost the claim"},
		"silent":           {err: errors.New("cut off"), want: sqlfence.ErrNoClaim, text: "could not be asked why (cut off)"},
		"overtaken":        {seen: 9, want: fence.ErrStale, text: "9"},
	} {
		told := 0
		ctx := fence.WithObserver(t.Context(), func(*fence.StaleError) { told++ })
		ctx = finishtx.With(ctx, func() (finishtx.End, error) {
			return finishtx.End{Schema: `"a""b"`, Job: "job", Token: 7, Owner: "own", Look: func(context.Context) (bool, uint64, error) { return tt.has, tt.seen, tt.err }}, nil
		}, `"a""b"`)
		err := sqlfence.Finish(ctx, func(_ context.Context, statement string, args ...any) (sql.Result, error) {
			if !strings.HasPrefix(statement, `SELECT "a""b".finish_run(`) || !slices.Contains(args, any("own")) {
				t.Errorf("asked %s with %v", statement, args)
			}
			return nil, refused("QF002")
		}, jobs.Run{Job: "job", Token: 7})
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: Finish = %v, want %v with %q", name, err, tt.want, tt.text)
		}
		if stale := errors.Is(tt.want, fence.ErrStale); errors.Is(err, fence.ErrStale) != stale || (told == 1) != stale {
			t.Errorf("%s: Finish = %v, and observers heard of %d stale writes", name, err, told)
		}
	}
}
