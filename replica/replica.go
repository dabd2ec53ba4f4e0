package replica

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// A Replica is one replica, ready to Run.
type Replica struct {
	id        string
	version   string
	log       *slog.Logger
	probeAddr string

	backend   backend
	scheduler *scheduler.Scheduler
	observer  scheduler.Observer
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

	mu      sync.Mutex
	serving net.Addr
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
// configuration is a *ConfigError.
func New(cfg Config) (*Replica, error) {
	file := config.File{Config: config.Default()}
	if cfg.File != nil {
		file = *cfg.File
	}
	if file.Registry == nil {
		file.Registry = jobs.NewRegistry()
	}
	if err := file.Registry.Err(); err != nil {
		return nil, err
	}
	settings, err := cfg.over(file.Config)
	if err = errors.Join(err, settings.Check(file.Registry)); err != nil {
		return nil, err
	}
	r, err := wire(settings, file.Registry, cfg)
	if err == nil && file.Source != nil {
		r.reloader = newReloader(r, settings, file, cfg.over)
	}
	return r, err
}

// wire puts the parts together.
func wire(cfg *config.Config, registry *jobs.Registry, options Config) (*Replica, error) {
	cluster, err := cfg.Cluster()
	if err != nil {
		return nil, err
	}
	list, err := cfg.JobList(registry)
	if err != nil {
		return nil, err
	}
	id, base := identify(cfg.Replica.ID), loggerFor(cfg, options.Logger)
	r := &Replica{id: id, version: options.Version, log: base.With("replica", id), probeAddr: cfg.HTTP.ProbesListen, reload: make(chan struct{}, 1)}
	r.beginMetrics(cfg, list, options.Metrics)
	if r.backend, err = r.open(cfg, cluster, options); err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // listings can do without
	part := cfg.SchedulerConfig()
	part.Replica, part.Version, part.Host, part.PID, part.State = id, options.Version, host, os.Getpid(), r.state
	part.Program = programName()
	part.ClockOffset, part.Stores = r.backend.ClockOffset, r.backend.Stores()
	r.tags.own.Store(tagsIn(list))
	r.warnUnresolved(cfg)
	if r.webhooks, err = newSinks(cfg, id, base, r.tags.tagsOf); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.settingsShown.Store(cfg)
	if err := r.openDashboard(cfg, options); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if options.Traces != nil {
		part.Middleware = []jobs.Middleware{options.Traces.Middleware}
	}
	if secrets := cfg.Withheld(); secrets != nil {
		part.Middleware = append(part.Middleware, secrets.Middleware)
	}
	r.observer = r.listeners(options)
	part.Observer, part.Logger, part.Source = r.observer, base, r.completed(options.Source)
	part.NotifySettled = true
	r.scheduler, err = scheduler.New(part, list)
	if err != nil {
		return nil, errors.Join(err, r.close())
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
func (r *Replica) open(cfg *config.Config, cluster config.Cluster, options Config) (backend, error) {
	switch {
	case cluster.Section == config.SectionRedis:
		return openNodes(cluster.Redis, options.Redis, r.log, r.metrics)
	case options.Store == nil || options.Store.Section() != cluster.Section:
		return nil, cfg.Wrong(config.Lacking(cluster.Section), cluster.Section)
	}
	return openStore(options.Store, cluster, r.log)
}

// listeners returns an observer that tells all parts what happens, in order.
func (r *Replica) listeners(options Config) scheduler.Observer {
	list := []scheduler.Observer{events{r.log, new(unrecorded)}.observe}
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
	return func(e scheduler.Event) {
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
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving
}

// shownSettings is the configuration in effect, for people.
func (r *Replica) shownSettings() any { return r.settingsShown.Load().Shown() }

// Abort ends a drain at once: running jobs are cancelled without waiting for
// scheduler.drain_timeout. A program calls it at the second signal.
func (r *Replica) Abort() {
	r.draining.Store(true)
	r.scheduler.Abort()
}
