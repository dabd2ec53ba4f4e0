package claims_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

// onPostgres returns a new store on a server. It connects replicas.
func onPostgres(tb testing.TB, server *pgtest.Server, schema string) func(string) locking.Locker {
	tb.Helper()
	connect := func() *postgres.Store {
		s, err := postgres.Open(tb.Context(), postgres.Config{URL: server.URL() + "&pool_max_conns=4", Schema: schema})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(s.Close)
		return s
	}
	s := connect()
	if _, err := s.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := claims.DeclareNew(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	return func(string) locking.Locker {
		l, err := claims.New(connect(), claims.Config{TTL: ttl, Grace: grace, Timeout: 300 * time.Millisecond})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = l.Close() })
		return l
	}
}

func TestConformsOnPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("leases expire in real time: it takes more than a minute")
	}
	server := pgtest.Start(t)
	var n atomic.Int32
	locktest.Run(t, locktest.Backend{
		New: func(tb testing.TB) func(string) locking.Locker {
			tb.Helper()
			return onPostgres(tb, server, fmt.Sprint("s", n.Add(1)))
		},
		Short: 1400 * time.Millisecond,
	})
}

func TestStressOnPostgres(t *testing.T) {
	t.Parallel()
	stressed(t, onPostgres(t, pgtest.Start(t), "quorate"))
}
