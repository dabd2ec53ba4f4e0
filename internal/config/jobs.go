package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

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

// complete returns a job with its schedule and its policies.
func (b *builder) complete(name string, job JobConfig) jobs.Job {
	built := jobs.Job{Name: name, Key: job.Formerly}
	if job.Program != nil {
		built = *job.Program
	}
	zone, sized := built.Timezone, built.Group != "" && built.GroupSize != 0
	copyFields(&built, &job)
	built.History = job.History.build()
	if !sized {
		built.GroupSize = b.cfg.Groups[job.Group].MaxRunning
	}
	built.Timezone = zone
	if built.Schedule == nil && len(job.Schedule) > 0 {
		built.Schedule, built.Spec, built.Timezone = b.schedule(path{"jobs", name}, job), job.Schedule.String(), b.timezone(job)
	}
	return built
}

func (b *builder) build(name string, job JobConfig) (jobs.Job, error) {
	built := b.complete(name, job)
	if job.Program == nil || job.Program.Schedule == nil { // otherwise the scheduler makes the hash, of its ticks, too
		built.Hash = cmp.Or(built.Hash, b.hash(job))
	}
	if built.Settings == nil {
		built.Settings = func() any { return b.shown(name) }
	}
	err := b.err()
	switch {
	case err != nil:
	case built.Handler != nil:
		if built.Bind == nil {
			built.Shape = jobs.NoShape()
		}
		built.Code = cmp.Or(built.Code, runtime.FuncForPC(reflect.ValueOf(built.Handler).Pointer()).Name())
	case b.registry != nil:
		if err = bind(&built, b.registry, job, limits(b.cfg, job)); err != nil {
			return built, fmt.Errorf("job %s: %w", name, err)
		}
	}
	return built, err
}

// bind gives a job its function of the registry.
func bind(built *jobs.Job, registry *jobs.Registry, job JobConfig, within jobs.Limits) (err error) {
	if built.Handler, err = registry.Bind(job.Func, job.Params, within); err != nil {
		return err
	}
	built.Bind = rebind(registry, job, within)
	if !slices.Contains(fixedParams, job.Func) {
		built.Shape = registry.Shape(job.Func)
	}
	return nil
}

// timezone returns the name of the time zone of a job's schedule: the one that all of its specs
// begin with, else the one that is set.
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
		SafetyMargin: c.safetyMargin(), Timeout: job.Timeout, TTL: c.Lock.TTL, Resolve: refs.Resolve,
	}
}

// fixedParams are the built-in functions whose params only the configuration sets. Otherwise
// a user who may trigger a job could run any command, or send secrets anywhere.
var fixedParams = []string{"exec", "http"}

// rebind returns the function that binds a job's function with the params of a request. These
// override the job's own, key by key.
func rebind(registry *jobs.Registry, job JobConfig, within jobs.Limits) func(map[string]any) (jobs.Handler, error) {
	return func(asked map[string]any) (jobs.Handler, error) {
		if slices.Contains(fixedParams, job.Func) {
			return nil, errFixed(job.Func)
		}
		if err := noReference(asked); err != nil {
			return nil, err
		}
		params := map[string]any{}
		maps.Copy(params, job.Params)
		maps.Copy(params, asked)
		return registry.Bind(job.Func, params, within)
	}
}

// CheckPublished returns an error if the job, as it was published, does not take the
// params. Those of some functions only the configuration sets.
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
		_, err = rebind(registry, own, limits(c, own))(asked)
	}
	if err != nil {
		return &commands.Error{Kind: commands.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

// noReference returns an error if a value holds a reference.
func noReference(params map[string]any) error {
	for p, text := range decode.Texts(params, nil) {
		if hasReference(text) {
			return fmt.Errorf("%s: ${…} is resolved in the configuration only; write the value", p[0])
		}
	}
	return nil
}

// check reports the mistakes of every job.
func (b *builder) check() {
	defaults := b.cfg.Defaults
	b.checkExcluded(path{"defaults"}, defaults.Exclude)
	for _, name := range b.names {
		p, job := path{"jobs", name}, b.cfg.Jobs[name]
		b.checkName(p, "a job name")
		job.JobPolicy.check(b.problems, p, defaults)
		if err := job.Overlap.With(job.OnCrash); err != nil {
			b.at(p.with("overlap"), "%v", err)
		}
		b.checkFormerly(name, job.Formerly)
		if job.Group != defaults.Group && (job.Program == nil || job.Program.GroupSize == 0) {
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
	case job.Program != nil && job.Program.Handler != nil:
	case job.Func == "" && job.Program != nil:
		b.at(p, "has no Handler; set one, or Func to the name of a registered function%s", listNames(b.registry))
	case job.Func == "":
		b.at(p, "has no func; write the name of a registered function%s", listNames(b.registry))
	case b.registry != nil:
		_, err := b.registry.Bind(job.Func, job.Params, limits(b.cfg, job))
		b.reportBind(p, err, nil)
		if err == nil { // mistakes in the values of references should show now, not in the first run
			_, err = b.registry.Bind(job.Func, resolvable(job.Params), limits(b.cfg, job))
			b.reportBind(p, err, job.Params)
		}
	}
}

// resolvable returns params with the values of those references that can be resolved here.
func resolvable(params map[string]any) map[string]any {
	tree, _ := decode.Map(params, nil, func(v any, _ []string) (any, error) { // no leaf fails
		if text, ok := v.(string); ok && hasReference(text) {
			if value, err := refs.Resolve(text); err == nil {
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

// reportBind reports each of the errors of binding a function at its place. If params were resolved for
// that, no message shows the values of their references.
func (b *builder) reportBind(p path, err error, resolved map[string]any) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			b.reportBind(p, one, resolved)
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
	report(params.with(param.Path...), "%s", withoutValues(param.Msg, values))
}

func listNames(registry *jobs.Registry) string {
	if registry == nil || len(registry.Names()) == 0 {
		return ""
	}
	return ": " + strings.Join(registry.Names(), ", ")
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
