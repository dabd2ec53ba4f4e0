package replica

import (
	"fmt"
	"maps"
	"slices"

	"github.com/quorate/quorate/jobs"
)

// fixedParams are the built-in functions whose params nobody but the
// configuration sets: whoever may ask for a run could have any command run, or
// have secrets sent anywhere.
var fixedParams = []string{"exec", "http"}

// rebind returns what binds the job's function with the params of a request,
// which go before the job's own, key by key.
func rebind(registry *jobs.Registry, job JobConfig, limits jobs.Limits) func(map[string]any) (jobs.Handler, error) {
	return func(asked map[string]any) (jobs.Handler, error) {
		if slices.Contains(fixedParams, job.Func) {
			return nil, fmt.Errorf("%s takes its params from the configuration only", job.Func)
		}
		if at := referenceIn(asked); at != "" {
			return nil, fmt.Errorf("%s: ${…} is resolved in the configuration only; write the value", at)
		}
		params := maps.Clone(job.Params)
		if params == nil {
			params = map[string]any{}
		}
		maps.Copy(params, asked)
		return registry.Bind(job.Func, params, limits)
	}
}

// referenceIn returns the key of a value that holds a reference, "" if none does.
func referenceIn(v any) string {
	switch v := v.(type) {
	case string:
		if hasReference(v) {
			return v
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if referenceIn(v[key]) != "" {
				return key
			}
		}
	case []any:
		for _, one := range v {
			if at := referenceIn(one); at != "" {
				return at
			}
		}
	}
	return ""
}
