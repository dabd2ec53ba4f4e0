// Package replica is one replica ready to run: what a service embeds, and what the
// quorate command is made of. It connects nodes, locker, ledger and scheduler.
//
//	r, err := replica.New(replica.Config{
//		Redis: replica.Redis{Nodes: []string{"redis://10.0.0.1:6379", …}},
//		Jobs:  []jobs.Job{{Name: "report", Spec: "0 2 * * *", Handler: report}},
//	})
//	…
//	err = r.Run(ctx) // blocks; drains when ctx ends
//
// Jobs and settings may also stand in config.yaml, which names functions of a registry:
//
//	registry := jobs.NewRegistry()
//	jobs.Register(registry, "report", report)
//	cfg, err := replica.Read("config.yaml", registry)
//	cfg.Metrics, cfg.Dashboard = new(metrics.Metrics), new(dashboard.Server)
//	r, err := replica.New(cfg)
//
// Both end in one Config: the program's settings override the file, and its Jobs run beside
// those of the file. A program links metrics, traces and the dashboard only if it passes
// them.
//
// # Configuration
//
// A file is read strictly: a key this release does not know is an error, so no setting is
// silently ignored. New and Read report all mistakes at once as a *ConfigError, each in
// one line with its place:
//
//	config.yaml:12:8: lock.ttl: 25s is not below redis.restart_grace (20s), …
//
// Environment variables that start with QUORATE__ go before the file. Any string of it
// may hold ${env:NAME} and ${file:/path}. In redis.username, redis.password, the URLs of
// nodes and the params of jobs these are resolved when they are used, so a file can be
// checked where its secrets are not.
//
// # Running
//
// Run joins the nodes, trying until a quorum of them answers, and says in words
// what it waits for. A refusal of the nodes, which no waiting can mend, ends it.
// /healthz, /readyz and /metrics, on http.probes_listen or else on http.listen, serve
// from the very start. When the context ends the replica drains as package scheduler
// describes.
package replica

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// Config is what a program runs a replica with. Only Redis or Store is required: the zero
// value of every other field means its default. A field that is a setting of
// config.yaml, too, has its key as a tag.
//
// Read returns a Config that stands for a file. The program's other settings override the
// file, and its Jobs are added to those of the file.
type Config struct {
	Redis Redis `setting:"redis"`
	// Jobs run beside those of the file. Zero values of their fields mean the defaults section of
	// the file, or its own defaults. A job that excludes days or ends one day belongs into
	// config.yaml.
	Jobs []jobs.Job

	// Namespace separates clusters on the same nodes. Default "quorate".
	Namespace string `setting:"namespace"`
	// Service names the service that the namespace belongs to. The store keeps the
	// first one. Run refuses a replica that names another, or none, with an *OtherServiceError.
	// Default: the store keeps none.
	Service string `setting:"service"`
	// ID names this replica. Default: the host and random digits.
	ID string `setting:"replica.id"`
	// Labels are what jobs may ask of this replica.
	Labels map[string]string `setting:"replica.labels"`
	Lock   Lock              `setting:"lock"`
	// Timezone is that of schedules that name none. Default UTC.
	Timezone string `setting:"scheduler.timezone"`
	// DrainTimeout is how long running jobs may go on after the
	// context of Run has ended. Default 20 s.
	DrainTimeout time.Duration `setting:"scheduler.drain_timeout"`
	// MaxRunning bounds the runs that go on at once on this
	// replica. Default: no bound.
	MaxRunning int `setting:"scheduler.max_running"`
	// ProbesListen is where /healthz and /readyz are served, and
	// /metrics if there are any. Default: nowhere.
	ProbesListen string `setting:"http.probes_listen"`

	// Store, if set, keeps everything in place of Redis nodes: &postgres.Store{URL: …} of
	// package stores/postgres.
	Store Store

	// Version of the program, for listings.
	Version string
	// Logger says what happens. Default: one to standard error, as the log section says. Lines
	// of a Logger of the program have the replica's id in the group "quorate".
	Logger *slog.Logger
	// Observer receives events, after the log.
	Observer event.Observer
	// Metrics, if set, count and measure what the replica does: new(metrics.Metrics).
	// They are served as /metrics on http.probes_listen or http.listen.
	Metrics Metrics
	// Traces, if set, make a span of each tick, with the claim, the calls of
	// the function and the end as its children: traces.New(provider). The
	// spans of the function hang below, since its context carries that of its call.
	Traces Traces
	// Dashboard, if set, serves http.listen: new(dashboard.Server).
	Dashboard Dashboard
	// Listener, if set, is where the dashboard is served, instead of on http.listen. The
	// replica closes it.
	Listener net.Listener
	// Source yields jobs besides Jobs, as they come and go. It is asked every
	// scheduler.source_every, 30 s by default, and at Replica.Refresh. Zero values of its jobs
	// mean what they mean in Jobs.
	Source scheduler.Source

	// File is what Read has read.
	File *config.File
}

// Redis names the nodes and says how to reach them: the redis section.
type Redis struct {
	// Nodes are the URLs of 1, 3, 5 or 7 independent Redis masters:
	// redis://[user:password@]host[:port], or rediss:// for TLS.
	Nodes []string
	// URL is that of one Redis, in place of Nodes. Its address stays after a failover.
	URL string `setting:"url"`
	// Sentinel finds one Redis, in place of Nodes: the master that the Sentinels at the
	// addresses, which are URLs, know by that name. go-redis logs what they say by its own
	// logger, see redis.SetLogger.
	Sentinel struct {
		Master    string   `setting:"master"`
		Addresses []string `setting:"addresses"`
	} `setting:"sentinel"`
	// Cluster finds one Redis, in place of Nodes: that server of a Redis Cluster which has
	// the keys of the namespace. It lists the URLs of some of its servers.
	Cluster []string `setting:"cluster.addresses"`
	// Copies is how many replicas the one Redis has. A claim counts when all of them have
	// it. With 0 a tick may run twice if one takes the place of a master that still runs.
	Copies int `setting:"copies"`
	// Username and Password are for nodes whose URLs hold none.
	Username string `setting:"username"`
	Password string `setting:"password"`
	// TLS is for nodes with a rediss:// URL.
	TLS *tls.Config
	// NodeTimeout is what one call of one node may take. Default 200 ms.
	NodeTimeout time.Duration `setting:"node_timeout"`
	// RestartGrace is how long a restarted node does not vouch for ticks; all replicas
	// have the same. Default 20 s.
	RestartGrace time.Duration `setting:"restart_grace"`
	// Durable: no node ever forgets, since all use appendfsync always and no failover loses
	// anything.
	Durable bool `setting:"durable"`
	// Dial replaces the network between the replica and the nodes.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Embedded allows nodes inside this process. For development and tests.
	Embedded bool
}

// Lock bounds the lease of a run: the lock section.
type Lock struct {
	// TTL is how long a lease lasts unless it is extended. Default 15 s.
	TTL time.Duration `setting:"ttl"`
	// ExtendEvery is the pause between extensions. Default TTL/3.
	ExtendEvery time.Duration `setting:"extend_every"`
	// SafetyMargin is how long before its lease the context of a job ends. Default TTL/10.
	SafetyMargin time.Duration `setting:"safety_margin"`
	// MaxHold is how long one run may keep its lease. Default: as long as it takes.
	MaxHold time.Duration `setting:"max_hold"`
}

// ConfigError holds every mistake of a configuration, with its place if it is in a file.
type ConfigError = config.Error

// Read reads the configuration at path ($QUORATE_CONFIG or config.yaml if it is empty)
// and lets the environment override it. It opens no connection. A replica made of what
// it returns reads the file again when it changes. The error of a bad configuration is a
// *ConfigError.
func Read(path string, registry *jobs.Registry) (Config, error) {
	source := config.Source{Path: path}
	cfg, err := config.Read(source, registry)
	if err != nil {
		return Config{}, err
	}
	return Config{File: &config.File{Config: cfg, Registry: registry, Source: &source}}, nil
}

// over returns what was read from the file, or the defaults, with what the program sets
// itself put over it.
func (c Config) over(read *config.Config) (*config.Config, error) {
	cfg := *read
	cfg.Override(c)
	if c.Redis.Nodes != nil {
		entries := make([]config.NodeEntry, len(c.Redis.Nodes))
		for i, url := range c.Redis.Nodes {
			entries[i].URL = url
		}
		cfg.Override(entries, "redis", "nodes")
	}
	if s := c.Store; s != nil && s.Address() != "" {
		switch s.Section() {
		case config.SectionEtcd:
			cfg.Override(strings.Split(s.Address(), ","), "etcd", "endpoints")
		case config.SectionZooKeeper:
			cfg.Override(strings.Split(s.Address(), ","), "zookeeper", "servers")
		default:
			cfg.Override(s.Address(), "postgres", "url")
		}
	}
	return &cfg, cfg.AddJobs(c.Jobs)
}

// A program links the next four, Store to Dashboard, only if it passes them in its Config.

// A Store keeps everything, in place of Redis nodes: new(postgres.Store) of package
// stores/postgres.
type Store interface {
	// Section is that of the store in a configuration file: postgres, etcd or zookeeper.
	Section() string
	// Address is that of the store, if the program sets it itself: the url of its section, or
	// its endpoints or servers, with commas between them.
	Address() string
	// Open opens the store without contacting it. The caller closes it.
	Open(ctx context.Context, cluster config.Cluster) (kv.Server, error)
}

// Metrics counts what the replica does: new(metrics.Metrics) of package
// scheduler/metrics, which is a prometheus.Collector, too.
type Metrics interface {
	Begin(r view.Host, maxJobs int, nodes func() *membership.Set)
	Observe(e event.Event)
	NodesObserver() membership.Observer
	UsersFailed(failed bool)
	Handler() http.Handler // GET /metrics
}

// Traces makes spans of what the replica runs: traces.New of package scheduler/traces.
type Traces interface {
	Begin(replica string)
	Observe(e event.Event)
	Middleware(next jobs.Handler) jobs.Handler
}

// Dashboard serves the API and the pages on http.listen: new(dashboard.Server) of
// package replica/dashboard.
type Dashboard interface {
	Begin(r view.Host, cfg *config.Config, listener net.Listener) error
	Observe(e event.Event)
	Start(ctx context.Context) error
	Stop() error
}
