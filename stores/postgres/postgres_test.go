package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/stores/postgres"
)

// A pool of the service may have any address that pgx knows.
func TestPoolsOfServices(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"10.0.0.1":        "postgres://10.0.0.1:5433/app",
		"::1":             "postgres://[::1]:5433/app",
		"/run/postgresql": "postgres:///app?host=%2Frun%2Fpostgresql&port=5433",
	} {
		pool, err := pgxpool.New(t.Context(), "user=ann password=Geheim1 dbname=app port=5433 host="+host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		s := &postgres.Store{Pool: pool}
		if got := s.Address(); got != want {
			t.Errorf("the address is %s, want %s", got, want)
		}
		_, err = replica.New(replica.Config{Namespace: "app", Store: s, Jobs: []jobs.Job{{
			Name: "job", Spec: "@every 1m", Handler: func(context.Context, jobs.Run) error { return nil },
		}}})
		if err != nil {
			t.Errorf("a pool at %s: %v", host, err)
		}
	}
}
