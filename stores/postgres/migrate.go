package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/config/connect"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// Migrate makes the schema that namespace names, "quorate" if it is empty, or brings it to this
// release, as `quorate store migrate` does. It reports whether the tables are new: then call [Init] before
// the first replica starts. It may be repeated, and many processes may call it at once: one of them makes
// the steps. Replicas of the previous release continue.
//
// It opens a connection with the settings of the pool. The role needs the right to create a schema, or owns
// the one of that name. The error is a *settings.Error if namespace is no name for one, else it says what
// the database has refused, or which of its settings must change. Fix that, and call it again.
func Migrate(ctx context.Context, pool *pgxpool.Pool, namespace string) (created bool, err error) {
	s := &Store{Pool: pool}
	cluster, err := s.cluster(namespace, false)
	if err != nil {
		return false, err
	}
	server, err := s.open(ctx, cluster)
	if err != nil {
		return false, err
	}
	defer server.Close()
	made, err := server.Migrate(ctx)
	return len(made) > 0 && made[0].Version == 1, err
}

// Init declares that no replica ever served the namespace from this database, as `quorate store init` does.
// Ticks then run at once. Without it, none runs for one settings.Postgres.FailoverGrace after the first replica
// has started.
//
// Call it only after [Migrate] has reported new tables. A database that was restored, or a standby that was
// promoted, may look new and have forgotten claims: its ticks could run twice.
//
// Durable is that of settings.Postgres. The error matches locking.ErrRefused if the store has claims.
func Init(ctx context.Context, pool *pgxpool.Pool, namespace string, durable bool) error {
	s := &Store{Pool: pool}
	cluster, err := s.cluster(namespace, durable)
	if err != nil {
		return err
	}
	opened, err := connect.One(ctx, cluster, connect.Options{Server: s})
	if err != nil {
		return err
	}
	return errors.Join(opened.DeclareNew(ctx), opened.Close())
}

// cluster is what the store is opened with. A program without a file has the defaults besides.
func (s *Store) cluster(namespace string, durable bool) (config.Cluster, error) {
	cfg := config.Default()
	cfg.Merge(config.Config{Namespace: namespace, Postgres: settings.Postgres{URL: settings.Secret(s.Address()), Durable: &durable}})
	if err := cfg.Check(jobs.NewRegistry()); err != nil {
		return config.Cluster{}, err
	}
	return cfg.Cluster()
}
