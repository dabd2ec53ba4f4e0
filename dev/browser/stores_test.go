package browser_test

import (
	"context"
	"slices"
	"testing"

	"github.com/quorate/quorate/dev/testkit/mariadbtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/config/connect"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/stores/mysql"
	"github.com/quorate/quorate/stores/postgres"
)

// A kind is a store that clusters are tested on.
type kind struct {
	name  string // of subtests
	store replica.Store
	start func(testing.TB) server // nil: there are five Redis nodes
}

// A server is the only one of a store.
type server interface {
	URL() string
	Freeze(tb testing.TB)
	Thaw(tb testing.TB)
}

// nodes are the Redis nodes.
func nodes() kind { return kind{name: "Redis"} }

// servers are the kinds that are one server. With -short, as in CI, a test runs on one of them, and each
// test names another.
func servers(short string) []kind {
	onPostgreSQL := func(tb testing.TB) server {
		tb.Helper()
		return pgtest.Start(tb)
	}
	onMariaDB := func(tb testing.TB) server {
		tb.Helper()
		return mariadbtest.Start(tb)
	}
	all := []kind{{"PostgreSQL", new(postgres.Store), onPostgreSQL}, {"MariaDB", new(mysql.Store), onMariaDB}}
	return slices.DeleteFunc(all, func(k kind) bool { return testing.Short() && k.name != short })
}

// programStores are those of the program that are not in every program.
func programStores() []replica.Store { return []replica.Store{new(mysql.Store)} }

// onEach runs a test on each kind of store.
func onEach(t *testing.T, kinds []kind, test func(*testing.T, kind)) {
	t.Helper()
	for _, on := range kinds {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

// open opens the store as a replica does.
func (c *cluster) open() store.Cluster {
	c.t.Helper()
	cfg, err := config.ReadCluster(config.Source{Path: c.config})
	if err != nil {
		c.t.Fatal(err)
	}
	opened, err := connect.Open(c.t.Context(), cfg, connect.Options{Server: c.on.store})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = opened.Close() })
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := opened.Join(ctx); err != nil || ctx.Err() != nil {
		c.t.Fatalf("the store cannot be joined: %v, %s", err, opened.NotReady())
	}
	return opened
}
