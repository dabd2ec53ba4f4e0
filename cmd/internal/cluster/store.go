package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/config/connect"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
	"github.com/quorate/quorate/stores/postgres"
)

// A Store is the store of a configuration: either Nodes or One, the other is nil.
type Store struct {
	Nodes     *membership.Set // the Redis nodes
	One       *single.Cluster // the only store
	Kept      store.Cluster   // of both
	Control   view.Control
	Namespace string
}

// Open opens the store of a configuration, of which it needs the namespace and the part
// about the store. The caller must Close it.
func Open(ctx context.Context, source config.Source, registry *jobs.Registry, stores []replica.Store) (*Store, error) {
	cfg, err := config.ReadCluster(source)
	if err != nil {
		return nil, err
	}
	server := Part(cfg.Section, stores)
	if server == nil && cfg.Section != config.SectionRedis {
		return nil, failure.Usagef("%s", config.Lacking(cfg.Section))
	}
	c, err := connect.Open(ctx, cfg, connect.Options{Server: server})
	if err != nil {
		return nil, err
	}
	s := &Store{Kept: c, Namespace: cfg.Namespace}
	switch c := c.(type) {
	case *quorum.Cluster:
		s.Nodes = c.Set
		s.Nodes.LearnEpoch(ctx) // requests carry the epoch of the node list
	case *single.Cluster:
		s.One = c
	}
	s.Control = view.ControlOf(c)
	s.Control.Served = configured(source)
	s.Control.CheckParams = func(job roster.JobInfo, params json.RawMessage) error {
		cfg, err := config.Read(source, nil)
		if err != nil {
			return config.CheckPublished(job, params) // a configuration for the nodes alone
		}
		return cfg.CheckParams(registry, job, params)
	}
	return s, nil
}

// Part returns the store of a section; nil if there is none.
func Part(section string, stores []replica.Store) replica.Store {
	for _, s := range append(slices.Clip(stores), new(postgres.Store)) {
		if s.Section() == section {
			return s
		}
	}
	return nil
}

// Service is that of the store.
func (s *Store) Service() Cluster {
	return Cluster{Service: s.Control, Name: "namespace " + s.Namespace}
}

// Close closes the connections.
func (s *Store) Close() error { return s.Kept.Close() }

// configured returns schedules from the configuration: of published jobs that have the same
// version in it.
func configured(source config.Source) func(roster.JobInfo) (schedule.Schedule, bool) {
	return func(last roster.JobInfo) (schedule.Schedule, bool) {
		cfg, err := config.Read(source, nil)
		if err != nil {
			return nil, false // a configuration for the nodes alone
		}
		list, err := cfg.JobList(nil)
		i := slices.IndexFunc(list, func(j jobs.Job) bool { return j.Name == last.Name && j.Hash == last.Hash && last.Hash != "" })
		if err != nil || i < 0 {
			return nil, false
		}
		return list[i].Schedule, true
	}
}

// ForgetJob deletes the nodes' data about a job that no live replica serves.
func (s *Store) ForgetJob(ctx context.Context, name string, now time.Time) error {
	names, err := s.Control.Directory(ctx)
	if err != nil {
		return err
	}
	key := names.Key(name)
	published, err := s.removed(ctx, key, now)
	if err != nil {
		return err
	}
	err = store.Forget(ctx, s.Kept, key)
	switch unknown := errors.Is(err, locking.ErrUnknownName); {
	case unknown && len(published) == 0:
		return fmt.Errorf("%w: %w; quorate jobs and quorate locks list what there is", view.ErrNotFound, err)
	case err != nil && !unknown:
		return err
	}
	return s.Control.Records.Roster.Unpublish(ctx, published)
}

// removed lists the published versions of a job. It returns an error if a live replica
// may serve one.
func (s *Store) removed(ctx context.Context, key string, now time.Time) ([]roster.JobInfo, error) {
	known, err := s.Control.Records.Roster.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	live, err := s.Control.Records.Roster.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	versions := slices.DeleteFunc(known, func(j roster.JobInfo) bool { return j.StoredAs() != key })
	if by := served.By(versions, live, now); by != "" {
		return nil, fmt.Errorf("%s may still be served by replica %s: remove it from the configuration of all replicas, then wait ten minutes after they have reloaded it, or restart them", key, by)
	}
	return versions, nil
}
