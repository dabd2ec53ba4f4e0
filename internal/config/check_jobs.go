package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
)

// checkJobs reports the mistakes of every job.
func (c *Config) checkJobs(ps *problems, registry *jobs.Registry) {
	calendars := c.calendars(ps)
	ps.excluded(path{"defaults"}, c.Defaults, c.Calendars)
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		p, job := path{"jobs", name}, c.Jobs[name]
		if !jobName.MatchString(name) {
			ps.atKey(p, "%q is not a job name; use up to 100 letters, digits and . _ -, starting with a letter or digit", name)
		}
		ps.own(p, job.JobPolicy, c.Defaults)
		c.checkFormerly(ps, name, job)
		if job.Group != c.Defaults.Group {
			c.checkGroup(ps, p.with("group"), job.Group)
		}
		c.checkChain(ps, p.with("on_success"), job.OnSuccess)
		c.checkChain(ps, p.with("on_failure"), job.OnFailure)
		if !slices.Equal(job.Exclude, c.Defaults.Exclude) {
			ps.excluded(p, job.JobPolicy, c.Calendars)
		}
		c.schedule(ps, p, job, calendars)
		if job.Handler != nil {
			continue
		}
		if job.Func == "" {
			ps.at(p, "has no func; write the name of a registered function%s", known(registry))
		} else if registry != nil {
			_, err := registry.Bind(job.Func, job.Params, c.limits(job))
			ps.bind(p, err)
		}
	}
	c.checkCircle(ps)
}

// checkFormerly makes sure that a job's first name is not another job's, now or
// first.
func (c *Config) checkFormerly(ps *problems, name string, job JobConfig) {
	p := path{"jobs", name, "formerly"}
	_, taken := c.Jobs[job.Formerly]
	switch {
	case job.Formerly == "":
		return
	case !jobName.MatchString(job.Formerly):
		ps.at(p, "%q is not a job name; write what the job was called first", job.Formerly)
		return
	case job.Formerly == name:
		ps.at(p, "the job has this name now; write what it was called before, or remove the key")
		return
	case taken:
		ps.at(p, "%q is another job of this file; what the nodes keep under a name belongs to one job: give that one a name that was never used", job.Formerly)
	}
	for other, o := range c.Jobs {
		if other < name && o.Formerly == job.Formerly {
			ps.at(p, "%q says the same of itself; only one job can go on with what the nodes keep", other)
		}
	}
}

// own checks the policy of a job where it differs from the defaults, whose
// mistakes are reported once.
func (ps *problems) own(p path, policy, defaults JobPolicy) {
	if policy.Timeout != defaults.Timeout {
		ps.positive(p.with("timeout"), policy.Timeout)
	}
	if policy.Timezone != defaults.Timezone && policy.Timezone != "" {
		ps.zone(p.with("timezone"), policy.Timezone)
	}
	if policy.LateAfter != defaults.LateAfter {
		ps.notNegative(p.with("late_after"), policy.LateAfter)
	}
	if policy.History != defaults.History {
		ps.history(p.with("history"), policy.History)
	}
	if policy.Retry != defaults.Retry || policy.Timeout != defaults.Timeout {
		ps.retry(p.with("retry"), policy)
	}
	if !maps.Equal(policy.Labels, defaults.Labels) {
		ps.labels(p.with("labels"), policy.Labels)
	}
	if err := scheduler.Overlap(policy.Overlap).With(scheduler.OnCrash(policy.OnCrash)); err != nil {
		ps.at(p.with("overlap"), "%v", err)
	}
	if policy.CatchUp != defaults.CatchUp {
		ps.catchUp(p.with("catch_up"), policy.CatchUp)
	}
	if !slices.Equal(policy.Tags, defaults.Tags) {
		ps.tags(p.with("tags"), policy.Tags)
	}
}

// tags checks what jobs are paused by.
func (ps *problems) tags(p path, tags []string) {
	for i, tag := range tags {
		if !acts.ValidTag(tag) {
			ps.at(p.with(strconv.Itoa(i)), "%q is not a tag; use up to 100 letters, digits and . _ -, starting with a letter or digit", tag)
		}
	}
}

// catchUp checks the bounds of catching up.
func (ps *problems) catchUp(p path, c CatchUpConfig) {
	ps.positive(p.with("window"), c.Window)
	if c.Max < 1 {
		ps.at(p.with("max"), "%d ticks are none; write a number from 1, or `mode: none`", c.Max)
	}
}

// bind reports what is wrong with the function of the job at p, or its params.
func (ps *problems) bind(p path, err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			ps.bind(p, one)
		}
		return
	}
	if errors.Is(err, jobs.ErrUnknownFunc) {
		ps.at(p.with("func"), "%v; if another binary registers it, check the configuration with that binary", err)
		return
	}
	params := p.with("params")
	param, ok := errors.AsType[*jobs.ParamError](err)
	switch {
	case !ok:
		ps.at(params, "%v", err)
	case strings.HasPrefix(param.Msg, "unknown"):
		ps.atKey(params.with(param.Path...), "%s", param.Msg)
	default:
		ps.at(params.with(param.Path...), "%s", param.Msg)
	}
}

func known(registry *jobs.Registry) string {
	if registry == nil || len(registry.Names()) == 0 {
		return ""
	}
	return ": " + strings.Join(registry.Names(), ", ")
}
