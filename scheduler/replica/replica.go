package replica

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/metrics"
	"github.com/quorate/quorate/scheduler/traces"
)

// Options are what a program decides rather than its configuration. The zero
// value is fine.
type Options struct {
	// ReplicaID goes before replica.id.
	ReplicaID string
	// Version of the program, for listings.
	Version string
	// Logger is used instead of one made from the log section.
	Logger *slog.Logger
	// LogOutput is where a logger made from the log section writes. Default:
	// standard error.
	LogOutput io.Writer
	// Observer is told what happens, after the log.
	Observer scheduler.Observer
	// Metrics has the replica count and measure what it does also if it does not
	// serve that itself, on http.probes_listen or http.listen: see Replica.Metrics.
	Metrics bool
	// TracerProvider, if set, gets a span of each tick, with the claim, the calls of
	// the function and the end as its children: see package scheduler/traces. The
	// spans of the function hang below, since its context carries that of its call.
	TracerProvider trace.TracerProvider
	// Listener, if set, is where the API is served, instead of on http.listen. The
	// replica closes it.
	Listener net.Listener
	// Source, if set, is where the configuration was read from: it is read again
	// when its file changes (see scheduler.reload_every) and at Replica.Reload,
	// and its jobs are served from then on. Adapt, if set, changes what was read
	// as the configuration given to New was changed after it was read.
	Source *Source
	Adapt  func(*Config)
	// Jobs yields jobs besides those of the configuration, as they come and go.
	// It is asked every scheduler.source_every and at Replica.Refresh.
	Jobs scheduler.Source
	// Dial replaces the network between the replica and the nodes.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Embedded allows nodes inside this process. For development and tests.
	Embedded bool
}

// A Replica is one replica, ready to Run.
type Replica struct {
	id        string
	version   string
	log       *slog.Logger
	probeAddr string

	cluster   *Cluster
	cells     []*cell
	scheduler *scheduler.Scheduler
	webhooks  sinks
	metrics   *metrics.Metrics // nil if nobody wants them
	web       *webServer       // nil without http.listen
	tags      tagBook
	observer  scheduler.Observer
	reloader  *reloader     // nil where the configuration is not read again
	reload    chan struct{} // holds one element after Reload
	settings  atomic.Pointer[map[string][]string]

	settingsShown atomic.Pointer[Config] // that the API shows

	started  atomic.Bool
	draining atomic.Bool

	mu      sync.Mutex
	serving net.Addr
}

// ErrRunTwice is returned by a second call of Replica.Run.
var ErrRunTwice = errors.New("replica: Run may be called once")

// Load reads the configuration at path ($QUORATE_CONFIG or config.yaml if it
// is empty), lets the environment override it, and returns its Replica, which
// reads it again when the file changes. The error of a bad configuration is a
// *ConfigError.
func Load(path string, registry *jobs.Registry) (*Replica, error) {
	source := Source{Path: path}
	cfg, err := Read(source, registry)
	if err != nil {
		return nil, err
	}
	return New(cfg, registry, Options{Source: &source})
}

// New returns a Replica that does not run yet. It contacts no node, but reads
// the secrets and files that reaching them takes. The error of a bad
// configuration is a *ConfigError.
func New(cfg *Config, registry *jobs.Registry, options Options) (*Replica, error) {
	if err := registry.Err(); err != nil {
		return nil, err
	}
	ps := &problems{origin: cfg.origin}
	cfg.check(ps, registry)
	if err := ps.err(); err != nil {
		return nil, err
	}
	cluster := cfg.cluster(ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	list, err := cfg.JobList(registry)
	if err != nil {
		return nil, err
	}
	r, err := wire(cfg, cluster, list, options)
	if err == nil && options.Source != nil {
		r.reloader = newReloader(r, cfg, registry, options)
	}
	return r, err
}

// wire puts the parts together.
func wire(cfg *Config, cluster []nodes.Config, list []scheduler.Job, options Options) (*Replica, error) {
	id := identify(options.ReplicaID, cfg.Replica.ID)
	base := options.Logger
	if base == nil {
		base = NewLogger(cfg.Log, output(options.LogOutput))
	}
	r := &Replica{id: id, version: options.Version, log: base.With("replica", id), probeAddr: cfg.HTTP.ProbesListen, reload: make(chan struct{}, 1)}
	logged := events{r.log, r.changedSettings}
	r.metrics = newMetrics(r, cfg, list, options)
	var err error
	if r.cells, r.cluster, err = openCells(cluster, options, r.log, r.metrics); err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // listings can do without
	part := cfg.SchedulerConfig()
	part.Replica, part.Version, part.Host, part.PID = id, options.Version, host, os.Getpid()
	part.ClockOffset = func() (time.Duration, bool) { return nodes.ClockOffset(r.cluster.Sets...) }
	part.State, part.Locker, part.Ledger, part.Roster = r.state, lockerOf(r.cells, r.cluster.layout), r.cluster.Ledger, r.cluster.Roster
	part.Archive, part.JobSets, part.Acts, part.Forget = r.cluster.Ledger, r.cluster.JobSets, r.cluster.Acts, r.cluster.forget
	r.tags.own.Store(tagsIn(list))
	if r.webhooks, err = cfg.sinks(id, base, r.tags.tagsOf); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.settingsShown.Store(cfg)
	if r.web, err = newWeb(cfg, r, options); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.observer = observers(logged.observer(), options.Observer, r.webhooks.observer(), observerOf(r.metrics), r.web.observer())
	if options.TracerProvider != nil {
		tracer := traces.New(options.TracerProvider, id)
		r.observer = observers(r.observer, tracer.Observer())
		part.Middleware = []jobs.Middleware{tracer.Middleware}
	}
	if secrets := cfg.withheld(); secrets != nil {
		part.Middleware = append(part.Middleware, secrets.Middleware)
	}
	part.Observer, part.Logger, part.Source = r.observer, base, r.tags.noting(options.Jobs)
	r.scheduler, err = scheduler.New(part, list)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
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
func (r *Replica) shownSettings() any { return r.settingsShown.Load().shown() }

// Abort ends a drain at once: running jobs are cancelled without waiting for
// scheduler.drain_timeout. A program calls it at the second signal.
func (r *Replica) Abort() {
	r.draining.Store(true)
	r.scheduler.Abort()
}
