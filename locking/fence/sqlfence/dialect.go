package sqlfence

import (
	"database/sql"
	"reflect"
	"strings"
)

// A Dialect is a database's kind of SQL.
type Dialect int

// The supported dialects. MySQL includes MariaDB.
const (
	PostgreSQL Dialect = iota + 1
	MySQL
	SQLite
)

// dialectOf returns the dialect of db's driver, by the type and package of the driver.
// It is zero for unknown ones, such as a driver that wraps another.
func dialectOf(db *sql.DB) Dialect {
	t := reflect.TypeOf(db.Driver())
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := strings.ToLower(t.PkgPath() + "." + t.Name())
	for _, known := range []struct {
		word    string
		dialect Dialect
	}{
		{"pgx", PostgreSQL},
		{"lib/pq", PostgreSQL},
		{"postgres", PostgreSQL},
		{"mysql", MySQL},
		{"mariadb", MySQL},
		{"sqlite", SQLite},
	} {
		if strings.Contains(name, known.word) {
			return known.dialect
		}
	}
	return 0
}

// statements are the guard's statements in one dialect.
type statements struct {
	// raise sets the token unless there is a larger one, and locks the row either way.
	raise string
	// countTells: one affected row means that the token was set.
	countTells bool
	// twice: raise takes the token as two arguments.
	twice bool
	// read returns the token as committed or as raised by this transaction.
	read string
}

func (s statements) raiseArgs(resource string, token int64) []any {
	if s.twice {
		return []any{resource, token, token}
	}
	return []any{resource, token}
}

func (d Dialect) statements(table string) statements {
	switch d {
	case PostgreSQL:
		return statements{
			raise: "INSERT INTO " + table + " AS f (resource, token) VALUES ($1, $2)" +
				" ON CONFLICT (resource) DO UPDATE SET token = EXCLUDED.token WHERE f.token <= EXCLUDED.token",
			countTells: true,
			read:       "SELECT token FROM " + table + " WHERE resource = $1",
		}
	case MySQL:
		// The count depends on a flag of the connection. The locking read sees the
		// committed row at every isolation level.
		return statements{
			raise: "INSERT INTO " + table + " (resource, token) VALUES (?, ?)" +
				" ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)",
			twice: true,
			read:  "SELECT token FROM " + table + " WHERE resource = ? FOR UPDATE",
		}
	default:
		return statements{
			raise: "INSERT INTO " + table + " (resource, token) VALUES (?, ?)" +
				" ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE token <= excluded.token",
			countTells: true,
			read:       "SELECT token FROM " + table + " WHERE resource = ?",
		}
	}
}
