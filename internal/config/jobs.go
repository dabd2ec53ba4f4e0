package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A builder checks the jobs of a configuration, and turns them into those of the scheduler.
type builder struct {
	*problems
	cfg       *Config
	registry  *jobs.Registry // nil: names and params of functions are taken as they are
	calendars map[string]*schedule.Calendar
	names     []string // of the jobs, sorted
}

// builder reads the calendars and reports their mistakes.
func (c *Config) builder(ps *problems, registry *jobs.Registry) *builder {
	b := &builder{problems: ps, cfg: c, registry: registry, names: slices.Sorted(maps.Keys(c.Jobs)), calendars: map[string]*schedule.Calendar{}}
	for _, name := range slices.Sorted(maps.Keys(c.Calendars)) {
		b.calendars[name] = c.Calendars[name].read(ps, name)
	}
	return b
}

// JobList returns the jobs in the form the scheduler takes, sorted by name.
// Without a registry (nil) they have no handlers: enough to compute ticks. It
// expects a Config that Read returned.
func (c *Config) JobList(registry *jobs.Registry) ([]scheduler.Job, error) {
	b := c.builder(&problems{origin: c.origin}, registry)
	var list []scheduler.Job
	for _, name := range b.names {
		built, err := b.build(name, c.Jobs[name])
		if err != nil {
			return nil, err
		}
		list = append(list, built)
	}
	return list, nil
}

// Complete returns a job of a Source with the defaults in place of zero values, as jobs of the file
// have them. Its schedule is what the program made it: no default concerns it.
func (c *Config) Complete(job scheduler.Job) scheduler.Job {
	d := c.Defaults
	history := d.History.build()
	job.Timeout, job.Jitter, job.LateAfter = cmp.Or(job.Timeout, d.Timeout), cmp.Or(job.Jitter, d.Jitter), cmp.Or(job.LateAfter, d.LateAfter)
	job.Overlap, job.OnCrash, job.Priority = cmp.Or(job.Overlap, d.Overlap), cmp.Or(job.OnCrash, d.OnCrash), cmp.Or(job.Priority, d.Priority)
	job.CatchUp = scheduler.CatchUp{
		Mode: cmp.Or(job.CatchUp.Mode, d.CatchUp.Mode), Window: cmp.Or(job.CatchUp.Window, d.CatchUp.Window), Max: cmp.Or(job.CatchUp.Max, d.CatchUp.Max),
	}
	job.Retry.MaxBackoff = cmp.Or(job.Retry.MaxBackoff, max(d.Retry.MaxBackoff, job.Retry.Backoff))
	job.Retry.Attempts, job.Retry.Backoff = cmp.Or(job.Retry.Attempts, d.Retry.Attempts), cmp.Or(job.Retry.Backoff, min(d.Retry.Backoff, job.Retry.MaxBackoff))
	job.Retry.AttemptTimeout = cmp.Or(job.Retry.AttemptTimeout, d.Retry.AttemptTimeout)
	job.History = ledger.History{
		Keep: cmp.Or(job.History.Keep, history.Keep), MaxAge: cmp.Or(job.History.MaxAge, history.MaxAge), MaxBytes: cmp.Or(job.History.MaxBytes, history.MaxBytes),
	}
	if job.Labels == nil {
		job.Labels = d.Labels
	}
	if job.Tags == nil {
		job.Tags = d.Tags
	}
	if job.Group == "" && d.Group != "" {
		job.Group, job.GroupSize = d.Group, c.Groups[d.Group].MaxRunning
	}
	job.Paused = job.Paused || d.Paused
	return job
}

func (b *builder) build(name string, job JobConfig) (scheduler.Job, error) {
	built := scheduler.Job{
		Name: name, Key: job.Formerly, Hash: b.hash(job),
		Schedule: b.schedule(path{"jobs", name}, job), Jitter: job.Jitter, Timeout: job.Timeout,
		Overlap: job.Overlap, OnCrash: job.OnCrash, CatchUp: scheduler.CatchUp(job.CatchUp), Retry: scheduler.Retry(job.Retry),
		Labels: job.Labels, Tags: job.Tags, Paused: job.Paused, LateAfter: job.LateAfter, History: job.History.build(),
		Limits: scheduler.Limits{Group: job.Group, GroupSize: b.cfg.Groups[job.Group].MaxRunning, Priority: job.Priority},
		Chain:  scheduler.Chain{OnSuccess: b.keys(job.OnSuccess), OnFailure: b.keys(job.OnFailure)},
		About: scheduler.About{
			Func: job.Func, Spec: job.Schedule.String(), Timezone: b.timezone(job), Description: job.Description,
			Settings: func() any { return b.shown(name) },
		},
	}
	err := b.err()
	switch {
	case err != nil:
	case job.Handler != nil:
		built.Handler, built.Params = job.Handler, jobs.NoShape()
		built.Code = runtime.FuncForPC(reflect.ValueOf(job.Handler).Pointer()).Name()
	case b.registry != nil:
		if built.Handler, err = b.registry.Bind(job.Func, job.Params, limits(b.cfg, job)); err != nil {
			return built, fmt.Errorf("job %s: %w", name, err)
		}
		if built.Bind = b.cfg.rebind(b.registry, job); !slices.Contains(fixedParams, job.Func) {
			built.Params = b.registry.Shape(job.Func)
		}
	}
	return built, err
}

// timezone returns the name of the zone that the schedule of a job is in: that which all of its
// specs begin with, or the one that is set.
func (b *builder) timezone(job JobConfig) string {
	named := map[string]bool{}
	var zone string
	for _, spec := range job.Schedule {
		_, zone = zoneOf(spec)
		named[zone] = true
	}
	if len(named) == 1 && zone != "" {
		return zone
	}
	return cmp.Or(job.Timezone, b.cfg.Scheduler.Timezone)
}

// keys returns the keys under which the nodes store the named jobs.
func (b *builder) keys(names []string) []string {
	var keys []string
	for _, name := range names {
		keys = append(keys, cmp.Or(b.cfg.Jobs[name].Formerly, name))
	}
	return keys
}

func limits(c *Config, job JobConfig) jobs.Limits {
	return jobs.Limits{
		SafetyMargin: c.Lock.safetyMargin(), Timeout: job.Timeout, TTL: c.Lock.TTL, Resolve: Expand,
	}
}
