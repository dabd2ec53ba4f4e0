package decode

import (
	"maps"
	"slices"
	"strconv"
)

// Map returns a copy of the tree v with what leaf makes of each value without parts. It
// stops at the first error.
func Map(v any, path []string, leaf func(v any, path []string) (any, error)) (any, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if c[key], err = Map(v[key], Child(path, key), leaf); err != nil {
				return nil, err
			}
		}
		return c, nil
	case []any:
		c := make([]any, len(v))
		for i := range v {
			if c[i], err = Map(v[i], Child(path, strconv.Itoa(i)), leaf); err != nil {
				return nil, err
			}
		}
		return c, nil
	default:
		return leaf(v, path)
	}
}

// Clone copies the maps and lists of a tree.
func Clone(v any) any {
	c, _ := Map(v, nil, func(v any, _ []string) (any, error) { return v, nil }) // no leaf fails
	return c
}
