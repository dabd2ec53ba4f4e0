package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
)

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
func CheckPublished(job scheduler.JobInfo, params json.RawMessage) error {
	if len(params) == 0 || !slices.Contains(fixedParams, job.Func) {
		return job.CheckParams(params)
	}
	return &acts.Error{Kind: acts.Trigger, Msg: "params: " + errFixed(job.Func).Error()}
}

func errFixed(function string) error {
	return fmt.Errorf("%s takes its params from the configuration only", function)
}

// CheckParams returns a *acts.Error if a job, as it was published, does not
// take the params of a request: as this configuration has the job, if the registry
// knows its function.
func (c *Config) CheckParams(registry *jobs.Registry, job scheduler.JobInfo, params json.RawMessage) error {
	own, ok := c.Jobs[job.Name]
	if !ok || registry == nil || own.Func != job.Func || !slices.Contains(registry.Names(), own.Func) {
		return CheckPublished(job, params)
	}
	return scheduler.Requests{Bind: c.rebind(registry, own)}.CheckParams(params)
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
