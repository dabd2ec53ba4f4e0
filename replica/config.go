// Package replica is one replica ready to run: what a service embeds, and what the
// quorate command is made of. It connects nodes, locker, ledger and scheduler.
//
//	r, err := replica.New(replica.Config{
//		Redis: settings.Redis{Nodes: settings.Nodes("redis://10.0.0.1:6379", …)},
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
// silently ignored. New and Read report all mistakes at once as a *settings.Error, each in
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

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// Config is what a program runs a replica with. Only Redis or a Store is required: the zero
// value of every other field means its default.
//
// Read returns a Config that stands for a file. The program's other settings override the
// file, and its Jobs are added to those of the file.
type Config struct {
	// Jobs run beside those of the file. Zero values of their fields mean the defaults section of
	// the file, or its own defaults. A Schedule of a job says what several schedules, dst, exclude,
	// starts_at and ends_at say in a file: package schedule has an example.
	Jobs []jobs.Job
	// Registry has the functions that jobs may name in place of a Handler: those of Jobs, of Source
	// and of the file. Read sets it.
	Registry *jobs.Registry

	// These are sections of config.yaml: package settings describes their fields.
	Namespace string // default "quorate"
	Service   string
	Replica   settings.Replica
	Redis     settings.Redis
	Postgres  settings.Postgres
	MySQL     settings.MySQL
	SQLite    settings.SQLite
	Etcd      settings.Etcd
	ZooKeeper settings.ZooKeeper
	Lock      settings.Lock
	HTTP      settings.HTTP
	Scheduler settings.Scheduler
	Webhooks  []settings.Webhook

	// Store is what a program needs besides the section of a store other than Redis, such as
	// new(postgres.Store) of package stores/postgres.
	Store Store
	// Dial, if set, replaces the network between the replica and Redis nodes.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// RedisCredentials, if set, returns the user and the password of each new connection to Redis
	// nodes, in place of redis.username and redis.password: for the tokens of a cloud's IAM. A URL
	// with a user or a password keeps its own. It is a CredentialsProviderContext of go-redis. Its
	// context ends after redis.node_timeout, so let it answer from memory.
	RedisCredentials func(ctx context.Context) (username, password string, err error)
	// TLS, if set, is for Redis nodes with a rediss:// URL, in place of redis.tls.
	TLS *tls.Config
	// Embedded allows Redis nodes inside this process. For development and tests.
	Embedded bool

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

// Read reads the configuration at path ($QUORATE_CONFIG or config.yaml if it is empty)
// and lets the environment override it. It opens no connection. A replica made of what
// it returns reads the file again when it changes. The error of a bad configuration is a
// *settings.Error.
func Read(path string, registry *jobs.Registry) (Config, error) {
	source := config.Source{Path: path}
	cfg, err := config.Read(source, registry)
	if err != nil {
		return Config{}, err
	}
	return Config{Registry: registry, File: &config.File{Config: cfg, Source: &source}}, nil
}

// over returns a copy of the configuration that was read, or of the defaults, with the settings
// and jobs of the program put over it.
func (c Config) over(read *config.Config) (*config.Config, error) {
	if c.Store != nil {
		for section, url := range map[string]*settings.Secret{config.SectionPostgres: &c.Postgres.URL, config.SectionMySQL: &c.MySQL.URL} {
			if section == c.Store.Section() && *url == "" {
				*url = settings.Secret(c.Store.Address())
			}
		}
	}
	cfg := *read
	cfg.Merge(config.Config{
		Namespace: c.Namespace, Service: c.Service, Replica: c.Replica, Lock: c.Lock, HTTP: c.HTTP, Scheduler: c.Scheduler, Webhooks: c.Webhooks,
		Redis: c.Redis, Postgres: c.Postgres, MySQL: c.MySQL, SQLite: c.SQLite, Etcd: c.Etcd, ZooKeeper: c.ZooKeeper,
	})
	return &cfg, cfg.AddJobs(c.Jobs)
}

// A program links the next four, Store to Dashboard, only if it passes them in its Config.

// A Store opens what keeps everything, in place of Redis nodes: new(postgres.Store) of
// package stores/postgres.
type Store interface {
	// Section is that of the store in a configuration file, such as postgres.
	Section() string
	// Address is the URL of a database to which the program has a pool. Empty: the section
	// names it.
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
	Carried(e event.Event) (traceparent, tracestate string)
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
