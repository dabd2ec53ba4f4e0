package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/jobs"
)

// Merge puts the settings of a program over the configuration, and notes whose they are. A zero
// value overrides nothing; a pointer to one does.
func (c *Config) Merge(program Config) {
	c.merge(reflect.ValueOf(c).Elem(), reflect.ValueOf(program), nil)
}

func (c *Config) merge(settings, program reflect.Value, at path) {
	for _, f := range decode.Fields(program.Type()) {
		setting, own, at := settings.FieldByIndex(f.Index), program.FieldByIndex(f.Index), at.with(f.Name)
		switch {
		case own.IsZero():
		case own.Kind() == reflect.Struct:
			c.merge(setting, own, at)
		default:
			setting.Set(own)
			c.Program(at...)
		}
	}
}

// Program notes that the value at the path is no longer that of the file.
func (c *Config) Program(at ...string) {
	if c.origin != nil {
		noted := *c.origin
		noted.overrides = append(slices.Clip(noted.overrides), override{path: at, label: byProgram})
		c.origin = &noted
	}
}

// AddJobs adds the jobs of the program to those of the file, whose defaults hold for them, too.
func (c *Config) AddJobs(list []jobs.Job) error {
	read := c.Jobs
	c.Jobs = map[string]JobConfig{}
	maps.Copy(c.Jobs, read)
	var errs []error
	for _, job := range list {
		_, inFile := read[job.Name]
		_, twice := c.Jobs[job.Name]
		switch {
		case inFile:
			errs = append(errs, c.Wrong("the program has a job of this name, too; rename one", "jobs", job.Name))
		case twice:
			errs = append(errs, c.Wrong("the program has two jobs of this name; rename one", "jobs", job.Name))
		default:
			c.Jobs[job.Name] = ofProgram(job, c.Defaults)
			c.Program("jobs", job.Name)
		}
	}
	return errors.Join(errs...)
}

// ofProgram returns a job of the program as a file would have it.
func ofProgram(job jobs.Job, defaults JobPolicy) JobConfig {
	made := JobConfig{Program: &job, Formerly: job.Key}
	copyFields(&made, &job)
	copyFields(&made.JobPolicy, &job)
	made.JobPolicy = made.Or(defaults)
	made.History.MaxBytes = max(made.History.MaxBytes, 0) // negative: no logs
	for _, d := range []*time.Duration{&made.Jitter, &made.LateAfter, &made.Retry.AttemptTimeout, &made.History.MaxAge} {
		*d = max(*d, 0) // jobs.None
	}
	if job.Schedule == nil && job.Spec != "" {
		made.Schedule = Specs{job.Spec}
	}
	return made
}

// Complete returns the jobs of a Source with the defaults in place of zero values, as jobs of the
// file have them, and those without a handler with their function of the registry. No default concerns
// a Schedule that the program made.
func (c *Config) Complete(list []jobs.Job, registry *jobs.Registry) ([]jobs.Job, error) {
	b := c.builder(&problems{origin: c.origin}, registry)
	b.problems = &problems{} // no place in the file is that of these jobs
	whole := make([]jobs.Job, len(list))
	for i, job := range list {
		made := ofProgram(job, c.Defaults)
		whole[i] = b.complete(job.Name, made)
		if job.Handler == nil {
			b.bindSourced(&whole[i], made)
		}
	}
	return whole, b.err()
}

// bindSourced gives a job of a Source its function. Its params come from a table that customers may
// fill, so they read no secrets, and run no commands.
func (b *builder) bindSourced(built *jobs.Job, job JobConfig) {
	p, within := path{"jobs", built.Name}, limits(b.cfg, job)
	within.Resolve = nil
	if slices.Contains(fixedParams, job.Func) {
		b.at(p.with("func"), "%v", errFixed(job.Func))
	} else if job.Func == "" {
		b.checkFunc(p, job)
	} else {
		b.reportBind(p, bind(built, b.registry, job, within), nil)
	}
}

// copyFields copies the fields of one struct, and of those that it embeds, to those of the same
// name and type in another.
func copyFields(to, from any) {
	dst, src := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range dst.NumField() {
		v := src.FieldByName(dst.Type().Field(i).Name)
		if field := dst.Field(i); v.IsValid() && v.CanConvert(field.Type()) {
			field.Set(v.Convert(field.Type()))
		}
	}
}
