package config

import (
	"cmp"
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
	"github.com/quorate/quorate/jobs"
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

// JobList returns the jobs in the form the scheduler takes, sorted by name.
// Without a registry (nil) they have no handlers: enough to compute ticks. It
// expects a Config that Read returned.
func (c *Config) JobList(registry *jobs.Registry) ([]scheduler.Job, error) {
	ps := &problems{origin: c.origin}
	calendars := c.calendars(ps)
	var list []scheduler.Job
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		job := c.Jobs[name]
		schedule := c.schedule(ps, path{"jobs", name}, job, calendars)
		if err := ps.err(); err != nil {
			return nil, err
		}
		built := scheduler.Job{
			Name: name, Schedule: schedule, Timeout: job.Timeout, Func: job.Func,
			Overlap: scheduler.Overlap(job.Overlap), Jitter: job.Jitter, Spec: job.Schedule.String(), Timezone: c.timezone(job), Description: job.Description,
			Retry: scheduler.Retry(job.Retry), Labels: job.Labels, Priority: job.Priority,
			Group: job.Group, GroupSize: c.Groups[job.Group].MaxRunning,
			OnCrash: scheduler.OnCrash(job.OnCrash),
			CatchUp: scheduler.CatchUp{Mode: scheduler.CatchUpMode(job.CatchUp.Mode), Window: job.CatchUp.Window, Max: job.CatchUp.Max},
			Tags:    job.Tags, Paused: job.Paused,
		}
		built.LateAfter, built.History = job.LateAfter, job.History.build()
		built.OnSuccess, built.OnFailure = c.keys(job.OnSuccess), c.keys(job.OnFailure)
		if job.Handler != nil {
			built.Handler, built.Params = job.Handler, jobs.NoShape()
		} else if registry != nil {
			var err error
			if built.Handler, err = registry.Bind(job.Func, job.Params, c.limits(job)); err != nil {
				return nil, fmt.Errorf("job %s: %w", name, err)
			}
			if built.Bind = c.rebind(registry, job); !slices.Contains(fixedParams, job.Func) {
				built.Params = registry.Shape(job.Func)
			}
		}
		built.Key, built.Hash = job.Formerly, c.jobHash(job, calendars)
		built.Settings = func() any { return c.shownJob(name, calendars) }
		list = append(list, built)
	}
	return list, nil
}

// SchedulerConfig returns what the configuration says of the scheduler itself,
// without what identifies and connects a replica.
func (c *Config) SchedulerConfig() scheduler.Config {
	return scheduler.Config{
		TTL: c.Lock.TTL, ExtendEvery: c.extendEvery(), SafetyMargin: c.Lock.SafetyMargin, MaxHold: c.Lock.MaxHold,
		Stagger: c.stagger(), DrainTimeout: c.Scheduler.DrainTimeout, Labels: c.Replica.Labels,
		SourceEvery: c.Scheduler.SourceEvery, ForgetAfter: c.Scheduler.ForgetAfter,
		MaxRunning: c.Scheduler.MaxRunning, MaxClockOffset: c.Scheduler.MaxClockOffset,
	}
}

// timezone returns the name of the zone that the schedule of a job is in.
func (c *Config) timezone(job JobConfig) string {
	return cmp.Or(job.Timezone, c.Scheduler.Timezone)
}

func (c *Config) limits(job JobConfig) jobs.Limits {
	return jobs.Limits{
		SafetyMargin: c.Lock.SafetyMargin, Timeout: job.Timeout, TTL: c.Lock.TTL, Resolve: Expand,
	}
}

// stagger is what the scheduler takes for it: its zero means the default.
func (c *Config) stagger() time.Duration {
	if c.Scheduler.Stagger == 0 {
		return -1
	}
	return c.Scheduler.Stagger
}
