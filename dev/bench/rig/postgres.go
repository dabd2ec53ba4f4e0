package rig

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
)

// pgConns is how many connections each side has: the default of a replica.
const pgConns = 8

// A Postgres is a server with our schema, River's, and a table of counters.
type Postgres struct {
	Cluster *single.Cluster
	server  *pgtest.Server
	tb      testing.TB
	pools   []*pgxpool.Pool
}

// Used is the processor time that the server has used so far.
func (p *Postgres) Used() time.Duration { return p.server.Used(p.tb) }

// Join opens the store once more, as another replica does, with so many connections.
func (p *Postgres) Join(ctx context.Context, conns int) (*single.Cluster, error) {
	store, err := postgres.Open(ctx, postgres.Config{URL: fmt.Sprintf("%s&pool_max_conns=%d", p.server.URL(), conns), Schema: Namespace})
	if err != nil {
		return nil, err
	}
	return single.Open(store, claims.Config{}, nil)
}

// Postgres starts a server with so many counters. With fsync "on" it syncs every commit; with
// "off" it does all but that.
func (r *Rig) Postgres(ctx context.Context, counters int, fsync string) (*Postgres, error) {
	p := &Postgres{tb: r.tb, server: pgtest.Start(r.tb, "fsync="+fsync, "synchronous_commit=on", "full_page_writes=on")}
	store, err := postgres.Open(ctx, postgres.Config{URL: p.server.URL(), Schema: Namespace})
	if err != nil {
		return nil, err
	}
	if _, err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	if err := claims.DeclareNew(ctx, store); err != nil {
		return nil, err
	}
	if p.Cluster, err = single.Open(store, claims.Config{}, nil); err != nil {
		return nil, err
	}
	pool, err := p.Pool(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, fmt.Sprintf("CREATE TABLE counters AS SELECT i AS id, 0::bigint AS n FROM generate_series(0, %d) i", counters)); err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "ALTER TABLE counters ADD PRIMARY KEY (id)"); err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return nil, err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return p, err
}

// Pool opens connections, whose statements are counted if there is a counter.
func (p *Postgres) Pool(ctx context.Context, statements *atomic.Int64) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(p.server.URL())
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = pgConns
	if statements != nil {
		cfg.ConnConfig.Tracer = counter{statements}
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err == nil {
		p.pools = append(p.pools, pool)
	}
	return pool, err
}

// Close closes all connections.
func (p *Postgres) Close() error {
	for _, pool := range p.pools {
		pool.Close()
	}
	return p.Cluster.Close()
}

// A counter counts statements.
type counter struct{ n *atomic.Int64 }

func (c counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
