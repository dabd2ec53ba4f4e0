package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/config/connect"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Replica is one replica, ready to Run.
type Replica struct {
	id      string
	version string
	log     *slog.Logger

	store     store.Cluster
	scheduler *scheduler.Scheduler
	observer  event.Observer
	webhooks  sinks
	metrics   Metrics   // nil: not counted
	dashboard Dashboard // nil without http.listen
	tags      tagBook
	reloader  *reloader     // nil where the configuration is not read again
	reload    chan struct{} // holds one element after Reload
	sourced   bool          // a Source yields jobs, too

	settingsShown atomic.Pointer[config.Config] // that the API shows

	started  atomic.Bool
	draining atomic.Bool
	probes   atomic.Pointer[probes] // nil before Run
}

// ErrRunTwice is returned by a second call of Replica.Run.
var ErrRunTwice = errors.New("replica: Run may be called once")

// Load is Read and New, for a program that adds nothing to its file.
func Load(path string, registry *jobs.Registry) (*Replica, error) {
	cfg, err := Read(path, registry)
	if err != nil {
		return nil, err
	}
	return New(cfg)
}

// New returns a Replica that does not run yet. It contacts no node, but reads
// the secrets and files that reaching them takes. The error of a bad
// configuration is a *settings.Error.
func New(cfg Config) (*Replica, error) {
	file := config.File{Config: config.Default()}
	if cfg.File != nil {
		file = *cfg.File
	}
	cfg.Registry = cmp.Or(cfg.Registry, jobs.NewRegistry())
	if err := cfg.Registry.Err(); err != nil {
		return nil, err
	}
	settings, err := cfg.over(file.Config)
	if err = errors.Join(err, settings.Check(cfg.Registry)); err != nil {
		return nil, err
	}
	r, err := wire(settings, cfg)
	if err == nil && file.Source != nil {
		r.reloader = &reloader{replica: r, from: file, registry: cfg.Registry, over: cfg.over, running: settings, latest: settings, sum: settings.Sum()}
	}
	return r, err
}

// wire puts the parts together.
func wire(cfg *config.Config, options Config) (*Replica, error) {
	cluster, err := cfg.Cluster()
	if err != nil {
		return nil, err
	}
	list, err := cfg.JobList(options.Registry)
	if err != nil {
		return nil, err
	}
	id, base := identify(cfg.Replica.ID), loggerFor(cfg, options.Logger)
	r := &Replica{id: id, version: options.Version, log: base.With("replica", id), reload: make(chan struct{}, 1)}
	r.beginMetrics(cfg, list, options.Metrics)
	if r.store, err = r.open(cfg, cluster, options); err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // listings can do without
	part := cfg.SchedulerConfig()
	part.Replica, part.Version, part.Host, part.PID, part.State = id, options.Version, host, os.Getpid(), r.state
	part.Program = programName()
	part.ClockOffset, part.Stores = r.store.ClockOffset, store.ForScheduler(r.store)
	r.tags.own.Store(tagsIn(list))
	r.warnUnresolved(cfg)
	r.webhooks = newSinks(cfg, id, base, r.tags.tagsOf, options.Traces)
	r.settingsShown.Store(cfg)
	if err := r.openDashboard(cfg, options); err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	if options.Traces != nil {
		part.Middleware = []jobs.Middleware{options.Traces.Middleware}
	}
	if secrets := cfg.Withheld(); secrets != nil {
		part.Middleware = append(part.Middleware, secrets.Middleware)
	}
	r.observer = r.listeners(options)
	part.Observer, part.Logger, part.Source = r.observer, base, r.completed(options.Source, options.Registry)
	part.NotifySettled = true
	r.scheduler, err = scheduler.New(part, list)
	if err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	r.sourced = options.Source != nil
	r.warnNoJobs(list)
	return r, nil
}

// warnUnresolved logs which runs and messages will fail.
func (r *Replica) warnUnresolved(cfg *config.Config) {
	for _, w := range cfg.Unresolved() {
		r.log.Warn("a reference of the configuration cannot be resolved", slog.String("problem", w.String()))
	}
}

// open opens the store. A configuration with one that this program lacks is refused.
func (r *Replica) open(cfg *config.Config, cluster config.Cluster, options Config) (store.Cluster, error) {
	if cluster.Section != config.SectionRedis && (options.Store == nil || options.Store.Section() != cluster.Section) {
		return nil, cfg.Wrong(config.Lacking(cluster.Section), cluster.Section)
	}
	nodes := func(c membership.Config) membership.Config {
		c.Observer = counting(events{log: r.log}.nodes(), r.metrics)
		c.Dial, c.Embedded, c.Credentials = options.Dial, options.Embedded, options.RedisCredentials
		if fresh := c.Fresh; options.TLS != nil {
			c.TLS = options.TLS
			c.Fresh = func() (membership.Config, error) {
				now, err := fresh()
				now.TLS = options.TLS
				return now, err
			}
		}
		return c
	}
	return connect.Open(context.Background(), cluster, connect.Options{Server: options.Store, Nodes: nodes, Log: r.log})
}

// listeners returns an observer that tells all parts what happens, in order.
func (r *Replica) listeners(options Config) event.Observer {
	list := []event.Observer{events{r.log, new(unrecorded)}.observe}
	if options.Observer != nil {
		list = append(list, options.Observer)
	}
	list = append(list, r.webhooks.observe)
	if r.metrics != nil {
		list = append(list, r.metrics.Observe)
	}
	if r.dashboard != nil {
		list = append(list, r.dashboard.Observe)
	}
	if options.Traces != nil {
		options.Traces.Begin(r.id)
		list = append(list, options.Traces.Observe)
	}
	return func(e event.Event) {
		for _, observe := range list {
			observe(e)
		}
	}
}

// ID returns the name of the replica.
func (r *Replica) ID() string { return r.id }

// Snapshot tells what the replica does now.
func (r *Replica) Snapshot() scheduler.Snapshot { return r.scheduler.Snapshot() }

// ProbesAddr returns where the probes are served, nil before Run and without
// http.probes_listen.
func (r *Replica) ProbesAddr() net.Addr {
	if p := r.probes.Load(); p != nil && p.listener != nil {
		return p.listener.Addr()
	}
	return nil
}

// shownSettings is the configuration in effect, for people, and says where each setting comes from.
func (r *Replica) shownSettings() (shown any, source func(path ...string) string) {
	cfg := r.settingsShown.Load()
	return cfg.Shown(), cfg.SourceOf
}

// Abort ends a drain at once: running jobs are cancelled without waiting for
// scheduler.drain_timeout. A program calls it at the second signal.
func (r *Replica) Abort() {
	r.draining.Store(true)
	r.scheduler.Abort()
}

// Run joins the nodes and runs jobs until ctx ends, then drains; see
// scheduler.Scheduler.Run. It returns nil after a complete drain, an error
// matching locking.ErrRefused if the nodes refuse this replica, an
// *OtherServiceError if the store belongs to another service, and a
// *scheduler.StuckError if jobs did not end. While no quorum of nodes answers,
// it waits. It may be called once, and leaves nothing behind but the functions that a
// *scheduler.StuckError names.
func (r *Replica) Run(ctx context.Context) error {
	if !r.started.CompareAndSwap(false, true) {
		return ErrRunTwice
	}
	probes, err := startProbes(ctx, r.settingsShown.Load().HTTP.ProbesListen, r.log, r.NotReady, r.metrics)
	if err != nil {
		return errors.Join(err, r.store.Close())
	}
	r.probes.Store(probes)
	if r.dashboard != nil {
		err = r.dashboard.Start(ctx)
	}
	if err == nil {
		err = r.serve(ctx)
	}
	r.draining.Store(true)
	if r.dashboard != nil {
		err = errors.Join(err, r.dashboard.Stop())
	}
	if err = errors.Join(err, r.store.Close(), probes.stop()); err == nil {
		r.log.Info("stopped")
	}
	return err
}

// serve joins the nodes and runs the scheduler, the webhooks and the reloader. It looks after the
// nodes until the drain is over.
func (r *Replica) serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { r.draining.Store(true) })()
	if err := r.store.Join(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if err := r.belong(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if r.store.NotReady() == "" { // else joining has said until when
		r.log.Info("ready")
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	watchers.Go(func() { r.store.Watch(watching) })
	stopWebhooks := r.webhooks.start(ctx)
	if r.reloader != nil {
		watchers.Go(func() { r.reloader.run(watching) })
	}
	err := r.scheduler.Run(ctx)
	stopWebhooks()
	stopWatching()
	watchers.Wait()
	return err
}

// warnNoJobs says so if there are no jobs, and none can come from a Source.
func (r *Replica) warnNoJobs(list []jobs.Job) {
	if len(list) == 0 && !r.sourced {
		r.log.Warn("the configuration has no jobs: nothing runs")
	}
}

// NotReady returns why the replica takes no ticks now, one text per reason; none if it takes
// them. It asks no store, so a probe may call it at any time, also before Run and after it.
func (r *Replica) NotReady() []string {
	var reasons []string
	if r.draining.Load() {
		reasons = append(reasons, "draining: no new ticks are taken")
	}
	if why := r.store.NotReady(); why != "" {
		reasons = append(reasons, why)
	}
	return reasons
}

// state is notReady for the roster, which learns of a drain by itself.
func (r *Replica) state() string {
	if r.store.NotReady() != "" {
		return roster.StateWaiting
	}
	return roster.StateReady
}

// An OtherServiceError is why Run refuses a replica: its store belongs to another service.
type OtherServiceError struct {
	Namespace string
	Kept      string // the service that the store belongs to
	Own       string // that of the replica; empty: it names none
}

// Error says what to do.
func (e *OtherServiceError) Error() string { return (*store.OtherServiceError)(e).Error() }

// Unwrap returns what errors of the store are told by.
func (e *OtherServiceError) Unwrap() error { return store.ErrOtherService }

// belong checks, before the replica publishes or claims anything, that the store is its
// service's. It tries until the store answers, or ctx ends, which is no error.
func (r *Replica) belong(ctx context.Context) error {
	cfg := r.settingsShown.Load()
	const warning = "no job runs until the store says which service it belongs to; trying again until then"
	other := func(err error) bool { return errors.Is(err, store.ErrOtherService) }
	err := store.Persist(ctx, r.log, warning, other, func(ctx context.Context) error {
		return store.Belong(ctx, r.store, cfg.Namespace, cfg.Service)
	})
	if refused, ok := errors.AsType[*store.OtherServiceError](err); ok {
		return (*OtherServiceError)(refused)
	}
	return err
}

// identify returns the id that is set, else the host's name and random
// digits: two processes of one host must never share an id.
func identify(id string) string {
	if id != "" {
		return id
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%08x", cmp.Or(host, "replica"), rand.Uint32())
}

// programName tells the program of this process from those of other services: the path of its main
// package, or the name of its file if the path is the same for all, as after `go run main.go`.
func programName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return info.Path
	}
	file, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Base(file)
}

// loggerFor returns the logger of a replica: own, if the program has one.
func loggerFor(cfg *config.Config, own *slog.Logger) *slog.Logger {
	if own == nil {
		return config.NewLogger(cfg.Log, os.Stderr)
	}
	if _, ours := own.Handler().(config.LogHandler); ours {
		return own
	}
	return slog.New(grouping{own.Handler()})
}

// grouping is the handler of a program's own logger. The program may have given it an attribute
// "replica": that of this replica is in the group "quorate".
type grouping struct{ slog.Handler }

// WithAttrs implements slog.Handler. What comes after the replica's attribute is not changed.
func (g grouping) WithAttrs(attrs []slog.Attr) slog.Handler {
	i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "replica" })
	if i < 0 {
		return grouping{g.Handler.WithAttrs(attrs)}
	}
	attrs = slices.Clone(attrs)
	attrs[i] = slog.Attr{Key: "quorate", Value: slog.GroupValue(attrs[i])}
	return g.Handler.WithAttrs(attrs)
}

// WithGroup implements slog.Handler.
func (g grouping) WithGroup(name string) slog.Handler { return grouping{g.Handler.WithGroup(name)} }
