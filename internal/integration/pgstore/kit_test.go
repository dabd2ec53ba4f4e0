// Package pgstore_test holds the tests of the store on PostgreSQL.
package pgstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/postgres"
	"github.com/quorate/quorate/internal/store/postgres/pgtest"
	"github.com/quorate/quorate/internal/store/storetest"
)

// schemas makes the schemas of a test process different.
var schemas atomic.Int64

// open opens a store that is set up, in a schema of its own if c names none.
func open(t testing.TB, c postgres.Config) *postgres.Store {
	t.Helper()
	if c.Schema == "" {
		c.Schema = fmt.Sprintf("schema %d", schemas.Add(1))
	}
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// rounds is the number of increments in the checks with competitors.
func rounds() int {
	if testing.Short() {
		return 500
	}
	return 10_000
}

func TestConforms(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	storetest.Run(t, storetest.Backend{
		New:    func(t testing.TB) store.Store { return open(t, postgres.Config{URL: server.URL()}) },
		Rounds: rounds(),
	})
}

func TestConformsBehindPgBouncer(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Bouncer(t)
	storetest.Run(t, storetest.Backend{
		New: func(t testing.TB) store.Store { return open(t, postgres.Config{URL: url}) },
	})
}
