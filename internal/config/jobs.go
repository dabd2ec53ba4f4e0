package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/roster"
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
func (c *Config) JobList(registry *jobs.Registry) ([]jobs.Job, error) {
	b := c.builder(&problems{origin: c.origin}, registry)
	var list []jobs.Job
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
func (c *Config) Complete(job jobs.Job) jobs.Job {
	JobPolicy{
		Timeout: job.Timeout, Jitter: job.Jitter, LateAfter: job.LateAfter, Overlap: job.Overlap, OnCrash: job.OnCrash, Priority: job.Priority,
		CatchUp: job.CatchUp, Retry: job.Retry, History: HistoryConfig(job.History), Labels: job.Labels, Tags: job.Tags, Paused: job.Paused,
	}.Or(c.Defaults).apply(&job)
	if group := c.Defaults.Group; job.Group == "" && group != "" {
		job.Group, job.GroupSize = group, c.Groups[group].MaxRunning
	}
	return job
}

// Or returns the policy with the settings of the defaults in place of its zero values. A list or
// map that is empty, but not nil, is no zero value. Of two pauses between calls, the one that is
// set bounds the other.
func (policy JobPolicy) Or(defaults JobPolicy) JobPolicy {
	own := policy.Retry
	orDefault(reflect.ValueOf(&policy).Elem(), reflect.ValueOf(defaults))
	if own.MaxBackoff == 0 {
		policy.Retry.MaxBackoff = max(policy.Retry.MaxBackoff, own.Backoff)
	}
	if own.Backoff == 0 {
		policy.Retry.Backoff = min(policy.Retry.Backoff, policy.Retry.MaxBackoff)
	}
	return policy
}

func orDefault(own, defaults reflect.Value) {
	for i := range own.NumField() {
		switch field := own.Field(i); {
		case field.IsZero():
			field.Set(defaults.Field(i))
		case field.Kind() == reflect.Struct && field.Type() != reflect.TypeFor[time.Time]():
			orDefault(field, defaults.Field(i))
		}
	}
}

// apply puts the policy into a job, but for its schedule and its group.
func (policy JobPolicy) apply(job *jobs.Job) {
	job.Timeout, job.Jitter, job.LateAfter = policy.Timeout, policy.Jitter, policy.LateAfter
	job.Overlap, job.OnCrash, job.Priority = policy.Overlap, policy.OnCrash, policy.Priority
	job.CatchUp, job.Retry, job.History = policy.CatchUp, policy.Retry, policy.History.build()
	job.Labels, job.Tags, job.Paused = policy.Labels, policy.Tags, policy.Paused
}

func (b *builder) build(name string, job JobConfig) (jobs.Job, error) {
	built := jobs.Job{
		Name: name, Key: job.Formerly, Hash: b.hash(job),
		Schedule: b.schedule(path{"jobs", name}, job),
		Group:    job.Group, GroupSize: b.cfg.Groups[job.Group].MaxRunning,
		OnSuccess: job.OnSuccess, OnFailure: job.OnFailure,
		Func: job.Func, Spec: job.Schedule.String(), Timezone: b.timezone(job), Description: job.Description,
		Settings: func() any { return b.shown(name) },
	}
	job.apply(&built)
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

func limits(c *Config, job JobConfig) jobs.Limits {
	return jobs.Limits{
		SafetyMargin: c.Lock.safetyMargin(), Timeout: job.Timeout, TTL: c.Lock.TTL, Resolve: Expand,
	}
}

// fixedParams are the built-in functions whose params nobody but the
// configuration sets: whoever may ask for a run could have any command run, or
// have secrets sent anywhere.
var fixedParams = []string{"exec", "http"}

// rebind returns what binds the job's function with the params of a request,
// which go before the job's own, key by key.
func (c *Config) rebind(registry *jobs.Registry, job JobConfig) func(map[string]any) (jobs.Handler, error) {
	return func(asked map[string]any) (jobs.Handler, error) {
		if slices.Contains(fixedParams, job.Func) {
			return nil, errFixed(job.Func)
		}
		if err := noReference(asked); err != nil {
			return nil, err
		}
		params := maps.Clone(job.Params)
		if params == nil {
			params = map[string]any{}
		}
		maps.Copy(params, asked)
		return registry.Bind(job.Func, params, limits(c, job))
	}
}

// CheckPublished returns an error if the job, as it was published, does not take the
// params: nobody but the configuration sets those of some functions.
func CheckPublished(job roster.JobInfo, params json.RawMessage) error {
	if len(params) == 0 || !slices.Contains(fixedParams, job.Func) {
		return job.CheckParams(params)
	}
	return &commands.Error{Kind: commands.Trigger, Msg: "params: " + errFixed(job.Func).Error()}
}

func errFixed(function string) error {
	return fmt.Errorf("%s takes its params from the configuration only", function)
}

// CheckParams returns a *commands.Error if a job, as it was published, does not
// take the params of a request: as this configuration has the job, if the registry
// knows its function.
func (c *Config) CheckParams(registry *jobs.Registry, job roster.JobInfo, params json.RawMessage) error {
	own, ok := c.Jobs[job.Name]
	if !ok || registry == nil || own.Func != job.Func || !slices.Contains(registry.Names(), own.Func) {
		return CheckPublished(job, params)
	}
	asked, err := commands.DecodeParams(params)
	if err == nil && len(params) > 0 {
		_, err = c.rebind(registry, own)(asked)
	}
	if err != nil {
		return &commands.Error{Kind: commands.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

// noReference returns an error if a value holds a reference.
func noReference(params map[string]any) error {
	_, err := decode.Map(params, nil, func(v any, path []string) (any, error) {
		if text, ok := v.(string); ok && hasReference(text) {
			return nil, fmt.Errorf("%s: ${…} is resolved in the configuration only; write the value", path[0])
		}
		return v, nil
	})
	return err
}

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
		ps.positive(p.with("catch_up", "window"), policy.CatchUp.Window)
		if n := policy.CatchUp.Max; n < 1 {
			ps.at(p.with("catch_up", "max"), "%d ticks are none; write a number from 1, or `mode: none`", n)
		}
	}
	if !slices.Equal(policy.Tags, around.Tags) {
		ps.tags(p.with("tags"), policy.Tags)
	}
}

// tags checks what jobs are paused by.
func (ps *problems) tags(p path, tags []string) {
	for i, tag := range tags {
		if !commands.ValidTag(tag) {
			ps.at(p.with(strconv.Itoa(i)), "%q is not a tag; use up to 100 letters, digits and . _ -, starting with a letter or digit", tag)
		}
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

// check checks how much of the past is kept.
func (h HistoryConfig) check(ps *problems, p path) {
	if h.Keep < 1 || h.Keep > jobs.MaxKeep {
		ps.at(p.with("keep"), "%d entries; write 1 to %d", h.Keep, jobs.MaxKeep)
	}
	ps.notNegative(p.with("max_age"), h.MaxAge)
	if h.MaxBytes < 0 {
		ps.at(p.with("max_bytes"), "%d is negative; write 0 to keep no logs, or more", h.MaxBytes)
	}
}

func (h HistoryConfig) build() jobs.History {
	bytes := h.MaxBytes
	if bytes == 0 {
		bytes = -1
	}
	return jobs.History{Keep: h.Keep, MaxAge: h.MaxAge, MaxBytes: bytes}
}

// checkNames reports names that are no jobs in a list of jobs.
func (b *builder) checkNames(p path, names []string) {
	for i, name := range names {
		if _, ok := b.cfg.Jobs[name]; ok || name == "" && b.has(p) {
			continue
		}
		advice := "write the name of one"
		if near := decode.Nearest(name, b.names); near != "" {
			advice = "did you mean " + near + "?"
		}
		b.at(p.with(strconv.Itoa(i)), "no job is called %q; %s", name, advice)
	}
}

// checkCircle reports jobs that would trigger each other for ever, once.
func (b *builder) checkCircle() {
	chains := make(map[string][]string, len(b.names))
	for name, job := range b.cfg.Jobs {
		chains[name] = slices.Concat(job.OnSuccess, job.OnFailure)
	}
	circle := jobs.ChainCircle(chains)
	if circle == nil {
		return
	}
	p := path{"jobs", circle[0], "on_failure"}
	if slices.Contains(b.cfg.Jobs[circle[0]].OnSuccess, circle[1]) {
		p = path{"jobs", circle[0], "on_success"}
	}
	b.at(p, "these jobs trigger each other without end: %s; take one out", strings.Join(circle, " → "))
}

// labelWord is what a label and its value may look like: they stand in reasons
// and listings as key=value.
var labelWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)

// labels checks what a replica has, or a job wants.
func (ps *problems) labels(p path, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		const rule = "use up to 100 letters, digits and . _ / -, starting with a letter or digit"
		if !labelWord.MatchString(key) {
			ps.atKey(p.with(key), "%q is not a label; %s", key, rule)
		} else if value := labels[key]; !labelWord.MatchString(value) && !ps.has(p.with(key)) {
			ps.at(p.with(key), "%q is not the value of a label; %s", value, rule)
		}
	}
}

// checkRetry checks how often a function is called again, and when.
func (policy JobPolicy) checkRetry(ps *problems, p path) {
	r := policy.Retry
	if r.Attempts < 1 && !ps.has(p.with("attempts")) {
		ps.at(p.with("attempts"), "%d calls of the function are none; write 1 for no retry, or more", r.Attempts)
	}
	ps.notNegative(p.with("attempt_timeout"), r.AttemptTimeout)
	if policy.Timeout > 0 && r.AttemptTimeout > policy.Timeout {
		ps.at(p.with("attempt_timeout"), "%v is above the timeout of the whole run (%v), so it would never be reached; write less, or raise timeout",
			r.AttemptTimeout, policy.Timeout)
	}
	positive := ps.positive(p.with("backoff"), r.Backoff)
	if ps.positive(p.with("max_backoff"), r.MaxBackoff) && positive && r.Backoff > r.MaxBackoff {
		ps.at(p.with("backoff"), "%v is above max_backoff (%v); lower it, or raise max_backoff", r.Backoff, r.MaxBackoff)
	}
}

// checkGroups checks the limits that jobs share.
func (b *builder) checkGroups() {
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Groups)) {
		p := path{"groups", name}
		if !jobName.MatchString(name) {
			b.atKey(p, "%q is not the name of a group; use up to 100 letters, digits and . _ -, starting with a letter or digit", name)
		}
		if n := b.cfg.Groups[name].MaxRunning; n < 1 && !b.has(p.with("max_running")) && !b.has(p) {
			b.at(p.with("max_running"), "%d runs at once are none; write 1 or more", n)
		}
	}
}

// checkGroup checks the name of a group that a job is in.
func (b *builder) checkGroup(p path, name string) {
	if _, known := b.cfg.Groups[name]; name == "" || known {
		return
	}
	names := slices.Sorted(maps.Keys(b.cfg.Groups))
	switch near := decode.Nearest(name, names); {
	case near != "":
		b.at(p, "no group is named %q; did you mean %s?", name, near)
	case len(names) > 0:
		b.at(p, "no group is named %q; groups has %s", name, strings.Join(names, ", "))
	default:
		b.at(p, "no group is named %q; write it under groups, such as `groups: {%s: {max_running: 1}}`", name, name)
	}
}
