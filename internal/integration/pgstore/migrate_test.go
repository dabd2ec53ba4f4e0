package pgstore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/postgres"
)

// What is up to date stays as it is, with its records and its rights.
func migrate(t *testing.T, w *world) {
	schema := w.migrated(t)
	s := w.openIn(t, schema, w.urlAs("replica"))
	write(t, s, `1`)
	if made, err := w.openIn(t, schema, w.URL()).Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("migrated again: %v, %v", made, err)
	}
	wants(t, s, `1`)
}

func migrateAtOnce(t *testing.T, w *world) {
	const replicas = 5
	schema := w.schema()
	steps, errs := make([]int, replicas), make([]error, replicas)
	var running sync.WaitGroup
	for who := range replicas {
		s := w.openIn(t, schema, w.URL())
		running.Go(func() {
			var made []postgres.Migration
			made, errs[who] = s.Migrate(t.Context())
			steps[who] = len(made)
		})
	}
	running.Wait()
	total := 0
	for who := range replicas {
		if errs[who] != nil {
			t.Error(errs[who])
		}
		total += steps[who]
	}
	if total != len(postgres.Migrations()) {
		t.Errorf("each of %d made so many steps: %v", replicas, steps)
	}
	wants(t, w.openIn(t, schema, w.URL()), "")
}

// An administrator can run the script instead.
func script(t *testing.T, w *world) {
	schema := w.schema()
	w.exec(t, postgres.Script(schema, 0))
	s := w.openIn(t, schema, w.URL())
	write(t, s, `1`)
	if made, err := s.Migrate(t.Context()); err != nil || len(made) > 0 {
		t.Errorf("after the script migrated %v, %v", made, err)
	}
}

func notMigrated(t *testing.T, w *world) {
	s := w.openIn(t, w.schema(), w.URL())
	_, _, read := s.Read(t.Context(), keyX)
	_, _, list := s.List(t.Context(), store.All(store.Claims))
	_, commit := s.Commit(t.Context(), store.Txn{})
	for _, err := range []error{read, list, commit} {
		if !errors.Is(err, store.ErrNotReady) || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "quorate store migrate") {
			t.Errorf("%v, want %v and what to do", err, store.ErrNotReady)
		}
	}
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, s, "")
}

func newerSchema(t *testing.T, w *world) {
	schema := w.migrated(t)
	runs := w.openIn(t, schema, w.URL())
	wants(t, runs, "")
	w.exec(t, `INSERT INTO `+pgx.Identifier{schema}.Sanitize()+`.migrations VALUES (99, 'of a later release')`)
	s := w.openIn(t, schema, w.URL())
	_, _, read := s.Read(t.Context(), keyX)
	_, migrate := s.Migrate(t.Context())
	for _, err := range []error{read, migrate} {
		if !errors.Is(err, store.ErrNotReady) || !strings.Contains(err.Error(), "99") || !strings.Contains(err.Error(), "upgrade quorate") {
			t.Errorf("%v, want %v, the version, and what to do", err, store.ErrNotReady)
		}
	}
	wants(t, runs, "") // a replica that runs goes on
}
