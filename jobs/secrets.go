package jobs

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
)

// resolveParams returns params with the references in their strings resolved, and the
// values of those that are secrets.
func resolveParams(params map[string]any, resolve func(string) (string, error)) (map[string]any, []string, error) {
	if resolve == nil {
		return params, nil, nil
	}
	var secrets []string
	tree, err := decode.Map(params, nil, func(v any, path []string) (any, error) {
		s, ok := v.(string)
		if !ok {
			return v, nil
		}
		out, inserted, err := refs.Expand(s, resolve)
		if err != nil {
			return nil, fmt.Errorf("resolving param %s: %w", strings.Join(path, "."), err)
		}
		secrets = append(secrets, inserted...)
		return out, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return tree.(map[string]any), secrets, nil
}
