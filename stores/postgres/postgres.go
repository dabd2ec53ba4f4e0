// Package postgres lets a replica keep everything in PostgreSQL, in place of Redis nodes:
//
//	r, err := replica.New(replica.Config{
//		Store: &postgres.Store{Pool: pool}, // that of the service
//		Jobs:  …,
//	})
//
// Without a pool the section postgres of the configuration, or settings.Postgres, has the URL.
//
// [Migrate] and [Init] set the database up, or `quorate store migrate` and `quorate store init`.
package postgres

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/replica"
)

// A Store opens the database that the postgres section names.
type Store struct {
	// Pool, if set, is a pool of the service, in place of the URL of the section. The replica has up to eight connections
	// besides, with the settings of that pool and at most as many: jobs that hold all
	// connections of the service cost no lease.
	Pool *pgxpool.Pool
}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionPostgres }

// Address implements [replica.Store].
func (s *Store) Address() string {
	if s.Pool == nil {
		return ""
	}
	c := s.Pool.Config().ConnConfig
	port := strconv.Itoa(int(c.Port))
	u := url.URL{Scheme: "postgres", Host: net.JoinHostPort(c.Host, port), Path: "/" + c.Database}
	if strings.HasPrefix(c.Host, "/") { // the folder of a socket
		u.Host, u.RawQuery = "", url.Values{"host": {c.Host}, "port": {port}}.Encode()
	}
	return u.String()
}

// Open implements [replica.Store].
func (s *Store) Open(ctx context.Context, cluster config.Cluster) (kv.Server, error) {
	return s.open(ctx, cluster)
}

func (s *Store) open(ctx context.Context, cluster config.Cluster) (*postgres.Store, error) {
	kept := cluster.Postgres
	return postgres.Open(ctx, postgres.Config{
		URL: string(kept.URL), Expand: refs.Resolve, Pool: s.Pool,
		Schema: cluster.Namespace, Durable: kept.Durable != nil && *kept.Durable, Timeout: cluster.Timeout,
	})
}

var _ replica.Store = (*Store)(nil)
