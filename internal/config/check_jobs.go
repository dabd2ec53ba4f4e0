package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/acts"
)

// check reports the mistakes of every job.
func (b *builder) check() {
	defaults := b.cfg.Defaults
	b.checkExcluded(path{"defaults"}, defaults.Exclude)
	for _, name := range b.names {
		p, job := path{"jobs", name}, b.cfg.Jobs[name]
		if !jobName.MatchString(name) {
			b.atKey(p, "%q is not a job name; use up to 100 letters, digits and . _ -, starting with a letter or digit", name)
		}
		job.JobPolicy.check(b.problems, p, defaults)
		if err := job.Overlap.With(job.OnCrash); err != nil {
			b.at(p.with("overlap"), "%v", err)
		}
		b.checkFormerly(name, job.Formerly)
		if job.Group != defaults.Group {
			b.checkGroup(p.with("group"), job.Group)
		}
		b.checkNames(p.with("on_success"), job.OnSuccess)
		b.checkNames(p.with("on_failure"), job.OnFailure)
		if !slices.Equal(job.Exclude, defaults.Exclude) {
			b.checkExcluded(p, job.Exclude)
		}
		b.schedule(p, job)
		b.checkFunc(p, job)
	}
	b.checkCircle()
}

// checkFunc reports what is wrong with the function of a job, or its params.
func (b *builder) checkFunc(p path, job JobConfig) {
	switch {
	case job.Handler != nil:
	case job.Func == "":
		b.at(p, "has no func; write the name of a registered function%s", known(b.registry))
	case b.registry != nil:
		_, err := b.registry.Bind(job.Func, job.Params, limits(b.cfg, job))
		b.bind(p, err, nil)
		if err == nil { // no run should be the first to see what references stand for
			_, err = b.registry.Bind(job.Func, resolvable(job.Params), limits(b.cfg, job))
			b.bind(p, err, job.Params)
		}
	}
}

// resolvable returns params with what references stand for, where that is known here.
func resolvable(params map[string]any) map[string]any {
	tree, _ := decode.Map(params, nil, func(v any, _ []string) (any, error) { // no leaf fails
		if text, ok := v.(string); ok && hasReference(text) {
			if value, err := Expand(text); err == nil {
				return refs.Escape(value), nil
			}
		}
		return v, nil
	})
	out, _ := tree.(map[string]any)
	return out
}

// checkFormerly makes sure that a job's first name is not another job's, now or
// first.
func (b *builder) checkFormerly(name, formerly string) {
	p := path{"jobs", name, "formerly"}
	_, taken := b.cfg.Jobs[formerly]
	switch {
	case formerly == "":
		return
	case !jobName.MatchString(formerly):
		b.at(p, "%q is not a job name; write what the job was called first", formerly)
		return
	case formerly == name:
		b.at(p, "the job has this name now; write what it was called before, or remove the key")
		return
	case taken:
		b.at(p, "%q is another job of this file; what the nodes keep under a name belongs to one job: give that one a name that was never used", formerly)
	}
	for other, o := range b.cfg.Jobs {
		if other < name && o.Formerly == formerly {
			b.at(p, "%q says the same of itself; only one job can go on with what the nodes keep", other)
		}
	}
}

// check checks the settings that differ from those around them, whose mistakes are reported
// once: a job's from the defaults, theirs from those of an empty file.
func (policy JobPolicy) check(ps *problems, p path, around JobPolicy) {
	if policy.Timeout != around.Timeout {
		ps.positive(p.with("timeout"), policy.Timeout)
	}
	if policy.Timezone != around.Timezone && policy.Timezone != "" {
		ps.zone(p.with("timezone"), policy.Timezone)
	}
	if policy.LateAfter != around.LateAfter {
		ps.notNegative(p.with("late_after"), policy.LateAfter)
	}
	if policy.History != around.History {
		policy.History.check(ps, p.with("history"))
	}
	if policy.Retry != around.Retry || policy.Timeout != around.Timeout {
		policy.checkRetry(ps, p.with("retry"))
	}
	if !maps.Equal(policy.Labels, around.Labels) {
		ps.labels(p.with("labels"), policy.Labels)
	}
	if policy.CatchUp != around.CatchUp {
		policy.CatchUp.check(ps, p.with("catch_up"))
	}
	if !slices.Equal(policy.Tags, around.Tags) {
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

// check checks the bounds of catching up.
func (c CatchUpConfig) check(ps *problems, p path) {
	ps.positive(p.with("window"), c.Window)
	if c.Max < 1 {
		ps.at(p.with("max"), "%d ticks are none; write a number from 1, or `mode: none`", c.Max)
	}
}

// bind reports each of the errors of binding a function at its place. If params were resolved for
// that, no message shows what their references stand for.
func (b *builder) bind(p path, err error, resolved map[string]any) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			b.bind(p, one, resolved)
		}
		return
	}
	if errors.Is(err, jobs.ErrUnknownFunc) {
		b.at(p.with("func"), "%v; if another binary registers it, check the configuration with that binary", err)
		return
	}
	params := p.with("params")
	param, ok := errors.AsType[*jobs.ParamError](err)
	if !ok {
		param = &jobs.ParamError{Msg: err.Error()}
	}
	values := valuesBelow(resolved)
	if text, _ := textAt(resolved, param.Path); text != "" {
		values = secretValues(text)
	}
	report := b.at
	if strings.HasPrefix(param.Msg, "unknown") {
		report = b.atKey
	}
	report(params.with(param.Path...), "%s", unquoted(param.Msg, values))
}

func known(registry *jobs.Registry) string {
	if registry == nil || len(registry.Names()) == 0 {
		return ""
	}
	return ": " + strings.Join(registry.Names(), ", ")
}
