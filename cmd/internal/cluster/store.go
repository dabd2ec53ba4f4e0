package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/storecopy"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
	"github.com/quorate/quorate/stores/postgres"
)

// A Store is a Cluster that reads the store itself.
type Store struct {
	view.Control
	view.Owned

	kept      kept
	namespace string
	nodes     *quorum.Cluster // nil unless everything is kept on Redis nodes
	one       *single.Cluster // nil unless it is kept on one store
	learned   bool            // the epoch of the node list
}

// kept is what is kept on nodes or on one store.
type kept interface {
	Control() view.Control
	view.Locks
	view.Nodes
	view.Owned
	Side(namespace string) storecopy.Side
	Close() error
}

// Open opens the store of a configuration, of which it needs the namespace and the part
// about the store. The caller must Close it.
func Open(ctx context.Context, source config.Source, registry *jobs.Registry, stores []replica.Store) (*Store, error) {
	cfg, err := config.ReadCluster(source)
	if err != nil {
		return nil, err
	}
	s := &Store{namespace: cfg.Namespace}
	if err := s.open(ctx, cfg, stores); err != nil {
		return nil, err
	}
	control := s.kept.Control()
	control.Served = served(source)
	own := control.CheckParams
	control.CheckParams = func(job scheduler.JobInfo, params json.RawMessage) error {
		cfg, err := config.Read(source, nil)
		if err != nil {
			return own(job, params) // a configuration for the nodes alone
		}
		return cfg.CheckParams(registry, job, params)
	}
	s.Control, s.Owned = control, s.kept
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

func (s *Store) open(ctx context.Context, cfg config.Cluster, stores []replica.Store) error {
	if cfg.Section != config.SectionRedis {
		part := Part(cfg.Section, stores)
		if part == nil {
			return failure.Usagef("%s", config.Lacking(cfg.Section))
		}
		server, err := part.Open(ctx, cfg)
		if err == nil {
			s.one, err = single.Configured(server, cfg)
			s.kept = s.one
		}
		return err
	}
	c, err := quorum.Open(cfg.Redis)
	if err != nil {
		return err
	}
	c.Set.Learn(ctx) // requests carry the epoch of the node list
	s.kept, s.nodes = c, c
	return nil
}

// Close closes the connections.
func (s *Store) Close() error { return s.kept.Close() }

// OnNodes reports whether everything is kept on Redis nodes.
func (s *Store) OnNodes() bool { return s.nodes != nil }

// Side returns the store as one side of a copy.
func (s *Store) Side() storecopy.Side { return s.kept.Side(s.namespace) }

// RedisNodes returns the nodes. If everything is kept on one store, doing says what takes
// nodes.
func (s *Store) RedisNodes(doing string) (*membership.Set, error) {
	if s.nodes == nil {
		return nil, failure.Usagef("%s is for Redis nodes, and this configuration keeps everything in one store: see quorate store", doing)
	}
	return s.nodes.Set, nil
}

// OneStore returns the store. If everything is kept on Redis nodes, doing says what takes
// another one.
func (s *Store) OneStore(doing string) (*single.Cluster, error) {
	if s.one == nil {
		return nil, failure.Usagef("%s is for one store, and this configuration has Redis nodes", doing)
	}
	return s.one, nil
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
	return About{"namespace " + s.namespace, remedy}
}

// Jobs implements Listings.
func (s *Store) Jobs(ctx context.Context) (rows []view.Job, warning string, err error) {
	rows, err = s.Control.Jobs(ctx)
	if err != nil {
		return nil, "", err
	}
	warning, err = s.MarkPaused(ctx, rows)
	if err != nil {
		warning = "pauses are unknown: " + err.Error()
	}
	return rows, warning, nil
}

// Locks implements Listings.
func (s *Store) Locks(ctx context.Context) ([]view.Lock, error) {
	rows, err := s.kept.Locks(ctx)
	if err != nil {
		return nil, err
	}
	return append([]view.Lock{}, rows...), nil
}

// Nodes implements Listings.
func (s *Store) Nodes(ctx context.Context) ([]view.Node, error) {
	if s.learned && s.nodes != nil {
		s.nodes.Set.Learn(ctx) // the list may have changed since
	}
	s.learned = true
	return s.kept.Nodes(ctx), nil
}

// Check implements Listings.
func (s *Store) Check(ctx context.Context) (Checkup, error) {
	if s.nodes == nil || s.nodes.Set.OneStore() {
		return judgeRows(s.kept.Checks(ctx)), nil
	}
	judged := Judge(s.nodes.Set.Len(), s.nodes.Set.Check(ctx))
	judged.Rows = s.nodes.Noted(ctx, judged.Rows)
	return judged, nil
}

// Ticks implements History, with computed ticks.
func (s *Store) Ticks(ctx context.Context, job string, q ledger.Query) ([]view.Tick, error) {
	read := s.TicksOfEach
	if job != "" {
		read = func(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) { return s.Control.Ticks(ctx, job, q) }
	}
	entries, err := read(ctx, q)
	if err != nil {
		return nil, err
	}
	return asRows(entries, view.NewTick), nil
}

// Runs implements History.
func (s *Store) Runs(ctx context.Context, job string, q ledger.Query, each bool) ([]view.Run, error) {
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
		var page view.Page
		page, err = s.Recent(ctx, view.RecentQuery{Limit: q.Limit, Since: q.Since})
		entries = page.Entries
	}
	if err != nil {
		return nil, err
	}
	return asRows(entries, view.NewRun), nil
}

// Latest implements History.
func (s *Store) Latest(ctx context.Context, since time.Time, limit int) (rows []view.Tick, more bool, err error) {
	page, err := s.Recent(ctx, view.RecentQuery{Limit: limit, Ticks: true, Since: since})
	if err != nil {
		return nil, false, err
	}
	return asRows(page.Entries, view.NewTick), !page.Next.IsZero(), nil
}

// Next implements History.
func (s *Store) Next(ctx context.Context, limit int) ([]view.Next, error) {
	return s.Control.Next(ctx, "", time.Now(), limit)
}

// Audit implements History.
func (s *Store) Audit(ctx context.Context, q view.AuditQuery) ([]view.Act, error) {
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
