package mysql

import (
	"net/url"
	"testing"

	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/mysql/internal/mysqltest"
)

// newWorld is a server that tests share.
func newWorld(tb testing.TB, settings ...string) (*storetest.World, *mysqltest.Server) {
	tb.Helper()
	on := mysqltest.Start(tb, settings...)
	on.Exec(tb, "CREATE USER replica IDENTIFIED BY 'Geheim1'")
	return &storetest.World{
		Open: func(tb testing.TB, namespace string) kv.Store {
			tb.Helper()
			migrate(tb, on, namespace)
			on.Exec(tb, Grants(namespace, "replica"))
			return opened(tb, source{fresh: at(as(on, "replica", "Geheim1")), database: namespace})
		},
		NextIncarnation: func(tb testing.TB, s kv.Store) {
			tb.Helper()
			on.Exec(tb, in(s.(*server).database, "UPDATE {database}.life SET number = number + 1"))
		},
		Clock: true,
	}, on
}

// as is the URL of a server for a user.
func as(on *mysqltest.Server, user, password string) string {
	return mysqltest.URL(on.Addr(), url.UserPassword(user, password))
}

// at is the login with a URL.
func at(url string) func() (config.Login, error) {
	return func() (config.Login, error) { return config.Login{URL: url}, nil }
}

// migrate makes a database with the tables.
func migrate(tb testing.TB, on *mysqltest.Server, database string) {
	tb.Helper()
	if _, err := opened(tb, source{fresh: at(on.URL()), database: database}).Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// opened opens a store until the test ends.
func opened(tb testing.TB, c source) *server {
	tb.Helper()
	s, err := open(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// TestKits runs the kits on a server, as a user who has the rights of a replica alone.
func TestKits(t *testing.T) {
	t.Parallel()
	w, _ := newWorld(t)
	w.Run(t)
}
