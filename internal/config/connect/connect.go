// Package connect opens the store that a configuration names, for replicas and for commands.
package connect

import (
	"context"
	"log/slog"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A Server opens a consistent store, such as PostgreSQL.
type Server interface {
	// Section is that of the store in a configuration.
	Section() string
	Open(ctx context.Context, cluster config.Cluster) (kv.Server, error)
}

// Options are what a configuration does not have.
type Options struct {
	Server Server // that of the section; nil for Redis nodes
	// Nodes, if set, adds to the configuration of Redis nodes what only a program has.
	Nodes func(membership.Config) membership.Config
	// Log is told what a replica should know of its store. Nil: nobody is.
	Log *slog.Logger
}

// Open opens the store without contacting it. Close it at the end.
func Open(ctx context.Context, c config.Cluster, o Options) (store.Cluster, error) {
	if c.Section == config.SectionRedis {
		nodes := c.Redis
		if o.Nodes != nil {
			nodes = o.Nodes(nodes)
		}
		opened, err := quorum.Open(nodes, o.Log)
		if err != nil {
			return nil, err // not a nil *quorum.Cluster
		}
		return opened, nil
	}
	opened, err := One(ctx, c, o)
	if err != nil {
		return nil, err // not a nil *single.Cluster
	}
	return opened, nil
}

// One is Open for the only store of a configuration, which names no Redis.
func One(ctx context.Context, c config.Cluster, o Options) (*single.Cluster, error) {
	server, err := o.Server.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	opened, err := single.Open(server, claims.Config{TTL: c.TTL, Grace: c.Grace, Timeout: c.Timeout}, o.Log)
	if err != nil {
		server.Close()
		return nil, err
	}
	return opened, nil
}
