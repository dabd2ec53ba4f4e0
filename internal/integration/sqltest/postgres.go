package sqltest

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Postgres starts a PostgreSQL server and returns the URL of a database on it,
// for the driver "pgx".
func Postgres(t testing.TB) string {
	t.Helper()
	home := newHome(t, "postgres")
	data := filepath.Join(home.dir, "data")
	home.run(t, program(t, "initdb", "postgresql"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	port := freePort(t)
	home.serve(t, server{
		bin: program(t, "postgres", "postgresql"),
		args: []string{
			"-D", data, "-h", "127.0.0.1", "-p", port, "-k", "", "-F",
			"-c", "max_connections=200", "-c", "full_page_writes=off",
		},
		ready: "ready to accept connections",
		stop:  syscall.SIGQUIT, // at once, and its children with it
	})
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%s/postgres?sslmode=disable", port)
}

// postgresBins are where Debian keeps the server's programs, which are not on
// the PATH there.
func postgresBins(name string) []string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is a good one
	return found
}

// MariaDB starts a MariaDB server and returns the name of a database on it, for
// the driver "mysql".
func MariaDB(t testing.TB) string {
	t.Helper()
	home := newHome(t, "mysql")
	data := filepath.Join(home.dir, "data")
	home.run(t, program(t, "mariadb-install-db", "mariadb-server"), "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	port := freePort(t)
	home.serve(t, server{
		bin: program(t, "mariadbd", "mariadb-server"),
		args: []string{
			"--no-defaults", "--datadir=" + data, "--bind-address=127.0.0.1", "--port=" + port,
			"--socket=" + filepath.Join(home.dir, "s"), "--pid-file=" + filepath.Join(home.dir, "pid"),
			"--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--max-connections=200",
		},
		ready: "ready for connections",
		stop:  syscall.SIGKILL,
	})
	return strings.ReplaceAll("root@tcp(127.0.0.1:PORT)/mysql", "PORT", port)
}
