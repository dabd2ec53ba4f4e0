package sqltest

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/servertest"
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
	home := servertest.NewHome(t, "mysql")
	data := filepath.Join(home.Dir, "data")
	home.Run(t, servertest.Program(t, "mariadb-install-db", "mariadb-server"), "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	port := servertest.FreePort(t)
	home.Serve(t, servertest.Server{
		Bin: servertest.Program(t, "mariadbd", "mariadb-server"),
		Args: []string{
			"--no-defaults", "--datadir=" + data, "--bind-address=127.0.0.1", "--port=" + port,
			"--socket=" + filepath.Join(home.Dir, "s"), "--pid-file=" + filepath.Join(home.Dir, "pid"),
			"--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--max-connections=200",
		},
		Ready: "ready for connections",
		Stop:  syscall.SIGKILL,
	})
	return strings.ReplaceAll("root@tcp(127.0.0.1:PORT)/mysql", "PORT", port)
}
