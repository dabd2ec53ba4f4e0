package sqlfence

import (
	"database/sql"
	"reflect"
	"strings"
)

// A Dialect is how a database wants its SQL.
type Dialect int

// The dialects there are. MySQL is also MariaDB's.
const (
	PostgreSQL Dialect = iota + 1
	MySQL
	SQLite
)

// dialectOf returns the dialect that db's driver speaks, by the driver's type
// and package, or zero: for a driver that wraps another one, say.
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

// statements are the two of a guard.
type statements struct {
	// raise sets the token unless there is a larger one, and locks the row
	// either way.
	raise string
	// countTells: a count of one row says that the token was set.
	countTells bool
	// again: raise takes the token twice.
	again bool
	// read returns the token as it is committed or raised by this transaction.
	read string
}

func (s statements) raiseArgs(resource string, token int64) []any {
	if s.again {
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
		// The count depends on a flag of the connection. The locking read sees
		// what is committed whatever the isolation level.
		return statements{
			raise: "INSERT INTO " + table + " (resource, token) VALUES (?, ?)" +
				" ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)",
			again: true,
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
