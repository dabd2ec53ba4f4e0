package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/scheduler"
)

// cluster returns what the nodes of each cell are opened with, references resolved
// and TLS files read: in the order of the cells' names, or of the only group.
func (c *Config) cluster(ps *problems) []members.Config {
	r := path{"redis"}
	base := members.Config{
		Namespace: c.Namespace,
		Username:  ps.resolve(r.with("username"), c.Redis.Username),
		Password:  ps.resolve(r.with("password"), c.Redis.Password),
		Timeout:   c.Redis.NodeTimeout,
		Grace:     c.Redis.RestartGrace,
		TTL:       c.Lock.TTL,
		Durable:   c.Redis.Durable,
	}
	var err error
	if base.TLS, err = c.Redis.TLS.load(); err != nil {
		ps.at(r.with("tls"), "%v", err)
	}
	if len(c.Redis.Cells) == 0 {
		return []members.Config{ps.group(r.with("nodes"), base, c.Redis.Nodes)}
	}
	var list []members.Config
	base.Cells = slices.Sorted(maps.Keys(c.Redis.Cells))
	for _, name := range base.Cells {
		base.Cell = name
		list = append(list, ps.group(r.with("cells", name, "nodes"), base, c.Redis.Cells[name].Nodes))
	}
	return list
}

// group returns base for the nodes listed at p.
func (ps *problems) group(p path, base members.Config, entries []NodeEntry) members.Config {
	for i, n := range entries {
		url := ps.resolve(p.with(strconv.Itoa(i)), n.URL)
		base.Nodes = append(base.Nodes, members.NodeConfig{Name: n.Name, URL: url})
	}
	base = base.WithDefaults()
	// References may have turned into anything, so the whole is checked again.
	if err := base.Validate(); err != nil && len(ps.list) == 0 {
		ps.at(path{"redis"}, "%v", err)
	}
	return base
}

// resolve returns the text at p with its references resolved.
func (ps *problems) resolve(p path, text string) string {
	out, err := Expand(text)
	if err != nil {
		ps.at(p, "%v", err)
	}
	return out
}

// load reads the files; nil if nothing is set.
func (t TLSConfig) load() (*tls.Config, error) {
	if t == (TLSConfig{}) {
		return nil, nil
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
	return cfg, errors.Join(errs...)
}

// SchedulerConfig returns what the configuration says of the scheduler itself,
// without what identifies and connects a replica.
func (c *Config) SchedulerConfig() scheduler.Config {
	return scheduler.Config{
		Process: scheduler.Process{Labels: c.Replica.Labels},
		Timing: scheduler.Timing{
			TTL: c.Lock.TTL, ExtendEvery: c.Lock.extendEvery(), SafetyMargin: c.Lock.safetyMargin(), MaxHold: c.Lock.MaxHold,
			Stagger: c.Scheduler.stagger(), MaxClockOffset: c.Scheduler.MaxClockOffset, DrainTimeout: c.Scheduler.DrainTimeout,
			SourceEvery: c.Scheduler.SourceEvery, ForgetAfter: c.Scheduler.ForgetAfter,
		},
		MaxRunning: c.Scheduler.MaxRunning,
	}
}

// stagger is what the scheduler takes for it: its zero means the default.
func (c SchedulerConfig) stagger() time.Duration {
	if c.Stagger == 0 {
		return -1
	}
	return c.Stagger
}
