package rotation_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	store "github.com/quorate/quorate/stores/postgres"
)

// Jobs that hold all connections of the service's pool cost no tick and no lease: a run lasts longer
// than its lease, and is extended.
func TestJobsHoldThePool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, owner := r.owned()
	r.exec(owner, "ALTER ROLE app RESET ALL")
	pool, err := pgxpool.New(t.Context(), pgtest.URL(server.Addr(), nil, "postgres")+"&user=app&pool_max_conns=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Release)
	}
	const ttl = 8 * time.Second
	long := make(chan error, 1)
	cfg := replica.Config{
		Namespace: "rotation", Store: &store.Store{Pool: pool}, Lock: settings.Lock{TTL: ttl}, Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
		Jobs: []jobs.Job{
			{Name: "short", Spec: "@every 1s", Handler: r.count},
			{Name: "long", Spec: "@every 1s", Handler: func(ctx context.Context, _ jobs.Run) error {
				select {
				case <-ctx.Done():
				case <-time.After(ttl + ttl/2):
				}
				select {
				case long <- context.Cause(ctx):
				default: // of a later tick
				}
				return ctx.Err()
			}},
		},
	}
	r.run(r.new(cfg))
	select {
	case err := <-long:
		if err != nil {
			t.Errorf("the long run ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the long run does not end")
	}
}
