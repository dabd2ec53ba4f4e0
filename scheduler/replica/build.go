package replica

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

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// cluster returns what the nodes are opened with, references resolved and TLS
// files read.
func (c *Config) cluster(ps *problems) nodes.Config {
	resolve := func(p path, text string) string {
		out, err := expand(text)
		if err != nil {
			ps.at(p, "%v", err)
		}
		return out
	}
	r := path{"redis"}
	cfg := nodes.Config{
		Namespace: c.Namespace,
		Username:  resolve(r.with("username"), c.Redis.Username),
		Password:  resolve(r.with("password"), c.Redis.Password),
		Timeout:   c.Redis.NodeTimeout,
		Grace:     c.Redis.RestartGrace,
		TTL:       c.Lock.TTL,
		Durable:   c.Redis.Durable,
	}
	for i, n := range c.Redis.Nodes {
		url := resolve(r.with("nodes", strconv.Itoa(i)), n.URL)
		cfg.Nodes = append(cfg.Nodes, nodes.NodeConfig{Name: n.Name, URL: url})
	}
	var err error
	if cfg.TLS, err = c.Redis.TLS.load(); err != nil {
		ps.at(r.with("tls"), "%v", err)
	}
	cfg = cfg.WithDefaults()
	// References may have turned into anything, so the whole is checked again.
	if err := cfg.Validate(); err != nil && len(ps.list) == 0 {
		ps.at(r, "%v", err)
	}
	return cfg
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
		if registry != nil {
			var err error
			if built.Handler, err = registry.Bind(job.Func, job.Params, c.limits(job)); err != nil {
				return nil, fmt.Errorf("job %s: %w", name, err)
			}
			built.Bind = c.rebind(registry, job)
		}
		built.Key, built.Hash = job.Formerly, c.jobHash(job, calendars)
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
		MaxRunning: c.Scheduler.MaxRunning,
	}
}

// timezone returns the name of the zone that the schedule of a job is in.
func (c *Config) timezone(job JobConfig) string {
	return cmp.Or(job.Timezone, c.Scheduler.Timezone)
}

func (c *Config) limits(job JobConfig) jobs.Limits {
	return jobs.Limits{
		SafetyMargin: c.Lock.SafetyMargin, Timeout: job.Timeout, TTL: c.Lock.TTL, Resolve: expand,
	}
}
