package sqltest

import (
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/quorate/quorate/dev/testkit/mariadbtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
)

// Postgres starts a PostgreSQL server and returns the URL of a database on it,
// for the driver "pgx".
func Postgres(t testing.TB) string {
	t.Helper()
	return pgtest.Start(t).URL()
}

// MariaDB starts a MariaDB server and returns the name of a database on it, for
// the driver "mysql".
func MariaDB(t testing.TB) string {
	t.Helper()
	s := mariadbtest.New(t)
	s.Install(t)
	s.Serve(t, "innodb-flush-log-at-trx-commit=0")
	return "root@tcp(" + s.Addr() + ")/mysql"
}
