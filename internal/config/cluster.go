package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
)

// A Cluster is what its store is opened with. Secrets and certificates are read anew at each
// connection, so that they can be replaced without a restart.
type Cluster struct {
	Namespace string
	TTL       time.Duration
	Section   string            // of the store that keeps everything; only that one counts
	Redis     membership.Config // the nodes, with references resolved; its Fresh reads it anew
	// The others have references: see Login.
	Postgres  settings.Postgres
	MySQL     settings.MySQL
	SQLite    settings.SQLite
	Etcd      settings.Etcd
	ZooKeeper settings.ZooKeeper
	// Timeout bounds a call to one store, and Grace is for how long nothing is granted in
	// another incarnation of it.
	Timeout, Grace time.Duration
}

// OneStore reports whether everything is kept in one store, and not on a list of nodes.
func (c Cluster) OneStore() bool {
	return c.Section != SectionRedis || len(c.Redis.Nodes) == 1 && c.Redis.Nodes[0].Name == membership.SingleName
}

func (c *Config) cluster(ps *problems) Cluster {
	store := c.store()
	out := Cluster{
		Namespace: c.Namespace, TTL: c.Lock.TTL, Section: store.section, Timeout: store.timeout, Grace: store.grace,
		Postgres: c.Postgres, MySQL: c.MySQL, SQLite: c.SQLite, Etcd: c.Etcd, ZooKeeper: c.ZooKeeper,
	}
	out.SQLite.Path = c.origin.beside(c.SQLite.Path)
	store.resolve(ps)
	if store.section == SectionRedis {
		out.Redis = c.redisNodes(ps)
		out.Redis.Fresh = func() (membership.Config, error) {
			ps := &problems{}
			fresh := c.redisNodes(ps)
			return fresh, ps.err()
		}
	}
	return out
}

// A Login is what a connection to a store begins with, other than Redis nodes.
type Login struct {
	URL                string      // of a database, with its password
	Username, Password string      // of a store without URL
	TLS                *tls.Config // nil: none is set
}

// Login resolves the references of the URL and of the user, and reads the files with
// certificates, as they are now. Stores call it for each connection.
func (c Cluster) Login() (Login, error) {
	ps := &problems{}
	cfg := Config{Postgres: c.Postgres, MySQL: c.MySQL, Etcd: c.Etcd, ZooKeeper: c.ZooKeeper}
	l := cfg.storeOf(c.Section).resolve(ps)
	return l, ps.err()
}

// resolve returns the login of the store as it is now.
func (s store) resolve(ps *problems) Login {
	at := path{s.section}
	return Login{
		URL: ps.resolve(at.with("url"), s.url), Username: ps.resolve(at.with("username"), s.username), Password: ps.resolve(at.with("password"), s.password),
		TLS: ps.loadTLS(at.with("tls"), s.tls),
	}
}

// redisNodes returns what the nodes, or the one Redis, are opened with.
func (c *Config) redisNodes(ps *problems) membership.Config {
	r := path{"redis"}
	cfg := membership.Config{
		Namespace: c.Namespace,
		Username:  ps.resolve(r.with("username"), c.Redis.Username),
		Password:  ps.resolve(r.with("password"), c.Redis.Password),
		TLS:       ps.loadTLS(r.with("tls"), c.Redis.TLS),
		Timeout:   c.Redis.NodeTimeout,
		Grace:     c.Redis.RestartGrace,
		TTL:       c.Lock.TTL,
		Durable:   deref(c.Redis.Durable),
		Copies:    deref(c.Redis.Copies),
	}
	for _, node := range slices.Concat(nodesOf(c.Redis), singles(c.Redis)) {
		cfg.Nodes = append(cfg.Nodes, node.config(ps.resolve))
	}
	cfg = cfg.WithDefaults()
	// References may have turned into anything, so the whole is checked again.
	if err := cfg.Validate(); err != nil && len(ps.list) == 0 {
		ps.at(r, "%v", err)
	}
	return cfg
}

// resolve returns the text at p with its references resolved.
func (ps *problems) resolve(p path, text settings.Secret) string {
	out, err := text.Resolve()
	if err != nil {
		ps.at(p, "%v", err)
	}
	return out
}

// loadTLS reads the files of the section at p; nil if nothing is set.
func (ps *problems) loadTLS(p path, t settings.TLS) *tls.Config {
	if t == (settings.TLS{}) {
		return nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	var errs []error
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("ca_file: %w", err))
		}
		cfg.RootCAs = x509.NewCertPool()
		if err == nil && !cfg.RootCAs.AppendCertsFromPEM(pem) {
			errs = append(errs, fmt.Errorf("ca_file: %s holds no certificate in PEM form", t.CAFile))
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("cert_file, key_file: %w", err))
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if err := errors.Join(errs...); err != nil {
		ps.at(p, "%v", err)
	}
	return cfg
}

// SchedulerConfig returns what the configuration says of the scheduler itself,
// without what identifies and connects a replica.
func (c *Config) SchedulerConfig() scheduler.Config {
	return scheduler.Config{
		Labels: c.Replica.Labels,
		TTL:    c.Lock.TTL, ExtendEvery: c.extendEvery(), SafetyMargin: c.safetyMargin(), MaxHold: deref(c.Lock.MaxHold),
		Stagger:        cmp.Or(deref(c.Scheduler.Stagger), -1), // its zero means the default
		MaxClockOffset: c.Scheduler.MaxClockOffset, DrainTimeout: c.Scheduler.DrainTimeout,
		SourceEvery: c.Scheduler.SourceEvery, ForgetAfter: deref(c.Scheduler.ForgetAfter), MaxRunning: deref(c.Scheduler.MaxRunning),
	}
}

// NewLogger returns the logger that the log section of a configuration asks
// for.
func NewLogger(cfg LogConfig, w io.Writer) *slog.Logger {
	var level slog.Level
	// The text was checked when the configuration was read; what New refuses
	// is logged at the default, info.
	_ = level.UnmarshalText([]byte(cfg.Level))
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(LogHandler{slog.NewJSONHandler(w, options)})
	}
	return slog.New(LogHandler{slog.NewTextHandler(w, options)})
}

// A LogHandler is that of a logger of NewLogger: no program has given it attributes.
type LogHandler struct{ slog.Handler }
