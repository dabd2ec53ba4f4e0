package jobs

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/internal/decode"
)

// hasReference reports whether s may be another string at each run.
func hasReference(s string) bool {
	return strings.Contains(s, "${env:") || strings.Contains(s, "${file:")
}

// resolveParams returns params with the references in their strings resolved, and the
// inserted texts.
func resolveParams(params map[string]any, resolve func(string) (string, error)) (map[string]any, []string, error) {
	if resolve == nil {
		return params, nil, nil
	}
	var secrets []string
	tree, err := decode.Map(params, nil, func(v any, path []string) (any, error) {
		s, ok := v.(string)
		if !ok || !hasReference(s) {
			return v, nil
		}
		out, err := resolve(s)
		if err != nil {
			return nil, fmt.Errorf("resolving param %s: %w", strings.Join(path, "."), err)
		}
		secrets = append(secrets, out, substituted(s, out))
		return out, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return tree.(map[string]any), secrets, nil
}

// substituted returns the part of out that replaces the references of s: "Bearer
// ${env:TOKEN}" makes a secret of the token alone.
func substituted(s, out string) string {
	before, _, _ := strings.Cut(s, "${")
	after := s[strings.LastIndex(s, "}")+1:]
	if len(out) < len(before)+len(after) || !strings.HasPrefix(out, before) || !strings.HasSuffix(out, after) {
		return out
	}
	return out[len(before) : len(out)-len(after)]
}
