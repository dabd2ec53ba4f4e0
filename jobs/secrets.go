package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// hasReference tells whether s may be another string at each run.
func hasReference(s string) bool {
	return strings.Contains(s, "${env:") || strings.Contains(s, "${file:")
}

// resolveParams returns params with the references in their strings resolved,
// and what was put in their place.
func resolveParams(params map[string]any, resolve func(string) (string, error)) (map[string]any, []string, error) {
	if resolve == nil {
		return params, nil, nil
	}
	r := resolver{resolve: resolve}
	tree, err := r.value(params, nil)
	if err != nil {
		return nil, nil, err
	}
	return tree.(map[string]any), r.secrets, nil
}

type resolver struct {
	resolve func(string) (string, error)
	secrets []string
}

// value returns v with its strings resolved. It does not change v.
func (r *resolver) value(v any, path []string) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		if !hasReference(v) {
			return v, nil
		}
		return r.string(v, path)
	case map[string]any:
		c := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if c[k], err = r.value(v[k], child(path, k)); err != nil {
				return nil, err
			}
		}
		return c, nil
	case []any:
		c := make([]any, len(v))
		for i := range v {
			if c[i], err = r.value(v[i], child(path, strconv.Itoa(i))); err != nil {
				return nil, err
			}
		}
		return c, nil
	default:
		return v, nil
	}
}

func (r *resolver) string(s string, path []string) (string, error) {
	out, err := r.resolve(s)
	if err != nil {
		return "", fmt.Errorf("resolving param %s: %w", strings.Join(path, "."), err)
	}
	r.secrets = append(r.secrets, out, substituted(s, out))
	return out, nil
}

// substituted returns the part of out that does not stand around the
// references of s: "Bearer ${env:TOKEN}" makes a secret of the token alone.
func substituted(s, out string) string {
	before, _, _ := strings.Cut(s, "${")
	after := s[strings.LastIndex(s, "}")+1:]
	if len(out) < len(before)+len(after) || !strings.HasPrefix(out, before) || !strings.HasSuffix(out, after) {
		return out
	}
	return out[len(before) : len(out)-len(after)]
}
