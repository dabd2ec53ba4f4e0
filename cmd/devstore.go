package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
)

// A devStore is where the replicas of dev keep everything.
type devStore struct {
	text   string        // what it is, for people
	server replica.Store // nil for embedded nodes
	adapt  func(*config.Config)
	init   func(context.Context, *config.Config) error
	close  func()
}

// devStore returns the file to keep or, without one, so many embedded nodes.
func (a *cli) devStore(keep string, nodes int) (devStore, error) {
	if keep != "" {
		return a.keptStore(keep)
	}
	embedded, err := devnodes.Start(nodes)
	if err != nil {
		return devStore{}, err
	}
	return devStore{
		text:  fmt.Sprintf("%d embedded nodes in this process", nodes),
		adapt: func(cfg *config.Config) { onEmbedded(cfg, embedded) }, init: initNodes, close: func() { embedded.Close() },
	}, nil
}

// keptStore returns a file of SQLite. It is declared new if there was none, so no tick waits for the
// grace.
func (a *cli) keptStore(path string) (devStore, error) {
	path, err := filepath.Abs(path) // a relative one would start at the folder of the configuration
	if err != nil {
		return devStore{}, err
	}
	server := cluster.Part(config.SectionSQLite, a.Stores)
	if server == nil {
		return devStore{}, failure.Usagef("--keep: %s", config.Lacking(config.SectionSQLite))
	}
	return devStore{
		text: "the file " + path + " in this process", server: server, close: func() {},
		adapt: func(cfg *config.Config) {
			cfg.Redis = config.Default().Redis // without a store, its times fit lock.ttl
			cfg.SQLite.Path = path
			cfg.SQLite.Timeout = min(cfg.SQLite.Timeout, cfg.Lock.TTL/5)
			cfg.SQLite.RestoreGrace = max(cfg.SQLite.RestoreGrace, 2*cfg.Lock.TTL)
			cfg.HTTP.ProbesListen = ""
			cfg.Program(config.SectionSQLite)
		},
		init: func(ctx context.Context, cfg *config.Config) error {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				return nil // the first call says what is wrong with it
			}
			c, err := cfg.Cluster()
			if err != nil {
				return err
			}
			s, err := server.Open(ctx, c)
			if err != nil {
				return err
			}
			defer s.Close()
			return claims.DeclareNew(ctx, s)
		},
	}, nil
}

// onEmbedded points the configuration, which was read without its store, at the embedded
// nodes. They are slow with many jobs but never down, so it waits for them as long as a
// lease allows. It drops the probes' port: replicas of one process cannot share it.
func onEmbedded(cfg *config.Config, embedded *devnodes.Nodes) {
	cfg.Redis.Nodes = append(cfg.Redis.Nodes, settings.Nodes(embedded.URLs()...)...)
	cfg.Redis.NodeTimeout = max(cfg.Redis.NodeTimeout, cfg.Lock.TTL/5)
	cfg.HTTP.ProbesListen = ""
	cfg.Program("redis")
}

// initWithin is how long embedded nodes may take to answer on a busy machine.
const initWithin = 10 * time.Second

// initNodes declares the nodes new, as this process has just started them, so no tick
// waits for the grace.
func initNodes(ctx context.Context, cfg *config.Config) error {
	cluster, err := cfg.Cluster()
	if err != nil {
		return err
	}
	cluster.Redis.Embedded = true
	set, err := membership.Open(cluster.Redis)
	if err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(ctx, initWithin)
	defer cancel()
	err = set.Init(ctx, false)
	for err != nil && !errors.Is(err, locking.ErrRefused) && retry.Sleep(trying, 100*time.Millisecond) {
		err = set.Init(ctx, false)
	}
	return errors.Join(err, set.Close())
}
