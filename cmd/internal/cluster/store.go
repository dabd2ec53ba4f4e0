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
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/storecopy"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
	"github.com/quorate/quorate/stores/postgres"
)

// A Store is a Cluster that reads the store itself.
type Store struct {
	Control   view.Control
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
	control.CheckParams = func(job roster.JobInfo, params json.RawMessage) error {
		cfg, err := config.Read(source, nil)
		if err != nil {
			return own(job, params) // a configuration for the nodes alone
		}
		return cfg.CheckParams(registry, job, params)
	}
	s.Control = control
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

// Service is that of view.Owned.
func (s *Store) Service(ctx context.Context, name string, replace bool) (string, error) {
	return s.kept.Service(ctx, name, replace)
}

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
func served(source config.Source) func(roster.JobInfo) (schedule.Schedule, bool) {
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
	warning, err = s.Control.MarkPaused(ctx, rows)
	if err != nil {
		warning = "pauses are unknown: " + err.Error()
	}
	return rows, warning, nil
}

// Replicas implements Listings.
func (s *Store) Replicas(ctx context.Context) ([]view.Replica, error) {
	return s.Control.Replicas(ctx)
}

// Pauses implements Listings.
func (s *Store) Pauses(ctx context.Context) ([]view.Command, error) { return s.Control.Pauses(ctx) }

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
	read := s.Control.TicksOfEach
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
		entries, err = s.Control.RunsOfEach(ctx, q)
	default:
		var page view.Page
		page, err = s.Control.Recent(ctx, view.RecentQuery{Limit: q.Limit, Since: q.Since})
		entries = page.Entries
	}
	if err != nil {
		return nil, err
	}
	return asRows(entries, view.NewRun), nil
}

// Latest implements History.
func (s *Store) Latest(ctx context.Context, since time.Time, limit int) (rows []view.Tick, more bool, err error) {
	page, err := s.Control.Recent(ctx, view.RecentQuery{Limit: limit, Ticks: true, Since: since})
	if err != nil {
		return nil, false, err
	}
	return asRows(page.Entries, view.NewTick), !page.Next.IsZero(), nil
}

// Next implements History.
func (s *Store) Next(ctx context.Context, limit int) ([]view.Next, error) {
	return s.Control.Next(ctx, "", time.Now(), limit)
}

// Log implements History.
func (s *Store) Log(ctx context.Context, job, run string, attempt int) (view.Log, error) {
	return s.Control.Log(ctx, job, run, attempt)
}

// Audit implements History.
func (s *Store) Audit(ctx context.Context, q view.AuditQuery) ([]view.Command, error) {
	rows, _, err := s.Control.AuditPage(ctx, q)
	return rows, err
}

func asRows[E, R any](entries []E, row func(E) R) []R {
	rows := make([]R, len(entries))
	for i, e := range entries {
		rows[i] = row(e)
	}
	return rows
}

// asked marks an invalid command as bad usage.
func asked(err error) error {
	_, bad := errors.AsType[*commands.Error](err)
	_, invalid := errors.AsType[*view.InvalidError](err)
	if bad || invalid {
		return failure.Usage(err)
	}
	return err
}

// Trigger implements Commands.
func (s *Store) Trigger(ctx context.Context, command commands.Command) (Request, error) {
	name := command.Job
	command, err := s.Control.Trigger(ctx, command)
	if err != nil {
		return Request{}, asked(err)
	}
	run := view.TriggeredRun(command)
	run.Job = name
	return Request{Run: run.ID(), ended: func(ctx context.Context) (*view.Run, error) { return s.ended(ctx, command, name) }}, nil
}

// ended returns the result of a trigger, nil while it is unknown. It keeps the job's name
// as the user gave it.
func (s *Store) ended(ctx context.Context, command commands.Command, name string) (*view.Run, error) {
	open, err := s.Control.Commands.Open(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.Control.Ledger.Ticks(ctx, ledger.Query{Job: command.Job, Since: command.At, Before: command.At.Add(time.Millisecond), Limit: 10})
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Stream != commands.StreamManual {
			continue
		}
		if e.Outcome == ledger.Running {
			return nil, nil
		}
		e.Job = name
		return asEnded(view.NewRun(e), e.ID())
	}
	for _, still := range append(open.Requests, open.Expired...) {
		if still.ID == command.ID {
			return nil, nil
		}
	}
	return nil, s.withdrawn(ctx, command)
}

// withdrawn returns an error if a request was closed without a run.
func (s *Store) withdrawn(ctx context.Context, command commands.Command) error {
	log, err := s.Control.Commands.Audit(ctx, commands.KeepAudit)
	if err != nil {
		return err
	}
	for _, a := range log {
		if a.ID == command.ID && !a.Closed.IsZero() {
			return fmt.Errorf("%s did not run: %s", command.Job, a.Result)
		}
	}
	return nil
}

// PauseOrResume implements Commands.
func (s *Store) PauseOrResume(ctx context.Context, command commands.Command, id string) (done view.Command, warning string, err error) {
	if id != "" {
		command, err = s.Control.Resume(ctx, command, id)
	} else {
		command, warning, err = s.Control.PauseOrResume(ctx, command)
	}
	if err != nil {
		return done, "", asked(err)
	}
	return view.NewCommand(command), warning, nil
}

// Cancel implements Commands.
func (s *Store) Cancel(ctx context.Context, command commands.Command, waiting bool) (view.Cancelled, error) {
	done, err := s.Control.Cancel(ctx, command, waiting)
	return done, asked(err)
}

// Backfill implements Commands.
func (s *Store) Backfill(ctx context.Context, command commands.Command, dry bool) (ticks []time.Time, err error) {
	if dry {
		ticks, _, err = s.Control.Planned(ctx, command)
	} else {
		ticks, err = s.Control.Backfill(ctx, command)
	}
	return ticks, asked(err)
}

// Release implements Commands.
func (s *Store) Release(ctx context.Context, command commands.Command, token uint64) (taken view.Lock, warning string, err error) {
	held, err := view.Evict(ctx, s.kept, command.Job, locking.Token(token), command.Reason)
	if errors.Is(err, locking.ErrSeveral) {
		err = failure.Usagef("%w, with --token", err)
	}
	if err != nil {
		return taken, "", err
	}
	command.Result = "taken from " + held.Holder
	if err := s.Control.Note(ctx, command); err != nil {
		warning = "the audit log could not record it: " + err.Error()
	}
	return view.LockRows([]locking.Holding{held})[0], warning, nil
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
	err = view.Forget(ctx, s.kept, key)
	switch unknown := errors.Is(err, locking.ErrUnknownName); {
	case unknown && len(published) == 0:
		return fmt.Errorf("%w: %w; quorate jobs and quorate locks list what there is", view.ErrNotFound, err)
	case err != nil && !unknown:
		return err
	}
	return s.Control.Roster.Unpublish(ctx, published)
}

// removed lists the published versions of a job. It returns an error if a live replica
// may serve one.
func (s *Store) removed(ctx context.Context, key string, now time.Time) ([]roster.JobInfo, error) {
	known, err := s.Control.Roster.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	live, err := s.Control.Roster.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	versions := slices.DeleteFunc(known, func(j roster.JobInfo) bool { return j.StoredAs() != key })
	if by := scheduler.ServedBy(versions, live, now); by != "" {
		return nil, fmt.Errorf("%s may still be served by replica %s: remove it from the configuration of all replicas, then wait ten minutes after they have reloaded it, or restart them", key, by)
	}
	return versions, nil
}
