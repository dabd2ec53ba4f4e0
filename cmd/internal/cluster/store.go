package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redisstore"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Store is a Cluster that reads the nodes.
type Store struct {
	*redisstore.Cluster
	listing.Control

	learned bool // the epoch of the node list
}

// Open opens the nodes of a configuration, of which it needs the namespace and redis
// parts. The caller must Close it.
func Open(ctx context.Context, source config.Source, registry *jobs.Registry) (*Store, error) {
	cfg, err := config.ReadCluster(source)
	if err != nil {
		return nil, err
	}
	c, err := redisstore.Open(cfg)
	if err != nil {
		return nil, err
	}
	c.Set.Learn(ctx) // requests carry the epoch of the node list
	control := c.Control()
	control.Served = served(source)
	own := control.CheckParams
	control.CheckParams = func(job scheduler.JobInfo, params json.RawMessage) error {
		cfg, err := config.Read(source, nil)
		if err != nil {
			return own(job, params) // a configuration for the nodes alone
		}
		return cfg.CheckParams(registry, job, params)
	}
	return &Store{Cluster: c, Control: control}, nil
}

// served returns schedules from the configuration: of published jobs that have the same
// version in it.
func served(source config.Source) func(scheduler.JobInfo) (schedule.Schedule, bool) {
	return func(last scheduler.JobInfo) (schedule.Schedule, bool) {
		cfg, err := config.Read(source, nil)
		if err != nil {
			return nil, false // a configuration for the nodes alone
		}
		list, err := cfg.JobList(nil)
		i := slices.IndexFunc(list, func(j scheduler.Job) bool { return j.Name == last.Name && j.Hash == last.Hash && last.Hash != "" })
		if err != nil || i < 0 {
			return nil, false
		}
		return list[i].Schedule, true
	}
}

// About implements Cluster.
func (s *Store) About() About {
	return About{"namespace " + s.Set.Namespace(), "Start the nodes that are down; quorate nodes check says what is wrong."}
}

// Jobs implements Listings.
func (s *Store) Jobs(ctx context.Context) (rows []listing.Job, warning string, err error) {
	rows, err = s.Control.Jobs(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := s.MarkPaused(ctx, rows); err != nil {
		warning = "pauses are unknown: " + err.Error()
	}
	return rows, warning, nil
}

// Locks implements Listings.
func (s *Store) Locks(ctx context.Context) ([]listing.Lock, error) {
	rows, err := s.Cluster.Locks(ctx)
	if err != nil {
		return nil, err
	}
	return append([]listing.Lock{}, rows...), nil
}

// Nodes implements Listings.
func (s *Store) Nodes(ctx context.Context) ([]listing.Node, error) {
	if s.learned {
		s.Set.Learn(ctx) // the list may have changed since
	}
	s.learned = true
	return s.Cluster.Nodes(ctx), nil
}

// Check implements Listings.
func (s *Store) Check(ctx context.Context) (Checkup, error) {
	return Judge(s.Set.Len(), s.Set.Check(ctx)), nil
}

// Ticks implements History, with computed ticks.
func (s *Store) Ticks(ctx context.Context, job string, q ledger.Query) ([]listing.Tick, error) {
	entries, err := s.Control.Ticks(ctx, job, q)
	if err != nil {
		return nil, err
	}
	return asRows(entries, listing.NewTick), nil
}

// Runs implements History.
func (s *Store) Runs(ctx context.Context, job string, q ledger.Query, each bool) ([]listing.Run, error) {
	var entries []ledger.Entry
	var err error
	switch {
	case job != "":
		if entries, err = s.Control.Runs(ctx, job, q); err != nil {
			return nil, err
		}
	case each || q.Filters() || !q.Before.IsZero():
		entries, err = s.RunsOfEach(ctx, q)
	default:
		var page listing.Page
		page, err = s.Recent(ctx, listing.RecentQuery{Limit: q.Limit, Since: q.Since})
		entries = page.Entries
	}
	if err != nil {
		return nil, err
	}
	return asRows(entries, listing.NewRun), nil
}

// Latest implements History.
func (s *Store) Latest(ctx context.Context, since time.Time, limit int) (rows []listing.Tick, more bool, err error) {
	page, err := s.Recent(ctx, listing.RecentQuery{Limit: limit, Ticks: true, Since: since})
	if err != nil {
		return nil, false, err
	}
	return asRows(page.Entries, listing.NewTick), !page.Next.IsZero(), nil
}

// Next implements History.
func (s *Store) Next(ctx context.Context, limit int) ([]listing.Next, error) {
	return s.Control.Next(ctx, "", time.Now(), limit)
}

// Audit implements History.
func (s *Store) Audit(ctx context.Context, q listing.AuditQuery) ([]listing.Act, error) {
	rows, _, err := s.AuditPage(ctx, q)
	return rows, err
}

func asRows[E, R any](entries []E, row func(E) R) []R {
	rows := make([]R, len(entries))
	for i, e := range entries {
		rows[i] = row(e)
	}
	return rows
}
