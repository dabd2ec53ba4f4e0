package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
)

// A decoder fills values from a decoded configuration and collects every
// mistake instead of stopping at the first.
type decoder struct {
	// unresolved: strings may hold references, to be resolved before each run.
	unresolved bool
	// secret: values may be secrets, so messages must not quote them.
	secret bool

	errs []error
	// unseen are the paths of values that could not be put in their place.
	unseen [][]string
}

func (d *decoder) walker() *decode.Walker {
	return &decode.Walker{Own: d.own, Fail: d.fail, Words: words, Secret: d.secret}
}

func (d *decoder) fail(path []string, _ bool, msg string) {
	d.unseen = append(d.unseen, path)
	d.errs = append(d.errs, &ParamError{Path: path, Msg: msg})
}

// own keeps texts with references for later, and refuses elements without a value where
// their type has none for it.
func (d *decoder) own(dst reflect.Value, v any, at decode.Place) (any, bool) {
	if v == nil {
		if dst.Kind() != reflect.Pointer && dst.Kind() != reflect.Interface {
			d.fail(at.Path, false, `has no value: write one, "" for an empty string`)
		}
		return nil, false
	}
	text, isText := v.(string)
	parses := decode.IsText(dst.Type()) || at.Quoted(dst.Type())
	whole := parses || dst.Kind() == reflect.Interface // its parts do not come here
	if !d.unresolved || dst.Kind() == reflect.Pointer || !isText && !whole {
		return v, true
	}
	if d.refers(v) {
		d.unseen = append(d.unseen, at.Path)
		return v, !parses // parsed once it is resolved
	}
	if parts, _ := refs.Split(text); len(parts) == 1 {
		return parts[0].Text, true // without the marks of escapes
	}
	return v, true
}

// refers reports whether a text in v may be another one at each run.
func (d *decoder) refers(v any) bool {
	found := false
	_, _ = decode.Map(v, nil, func(v any, _ []string) (any, error) { // no leaf fails
		if text, ok := v.(string); ok {
			parts, err := refs.Split(text)
			found = found || err != nil || slices.ContainsFunc(parts, func(p refs.Part) bool { return p.Kind != "" })
		}
		return v, nil
	})
	return found
}

// checkReferences reports texts that look like references and are none.
func (d *decoder) checkReferences(params map[string]any) {
	_, _ = decode.Map(params, nil, func(v any, path []string) (any, error) { // no leaf fails
		if text, ok := v.(string); ok {
			if _, err := refs.Split(text); err != nil {
				d.fail(path, false, err.Error())
			}
		}
		return v, nil
	})
}

// words are how mistakes in params are put.
var words = decode.Words{
	Mismatch: "is %s: want %s",
	Is: map[decode.Kind]string{
		decode.Text: "a string", decode.Bool: "a boolean", decode.Whole: "a whole number", decode.Number: "a number with a fraction",
		decode.Instant: "a date", decode.List: "a list", decode.Mapping: "a mapping", decode.Nothing: "empty",
	},
	Want: map[decode.Kind]string{
		decode.Text: "a string", decode.Bool: "true or false", decode.Whole: "a whole number", decode.Number: "a number",
		decode.Duration: "a duration with its unit, such as 30s", decode.Instant: "an instant, such as 2026-12-01T00:00:00Z",
		decode.List: "a list", decode.Mapping: "keys and values",
	},
	Quote: ", write it in quotes",
	Unknown: func(key string, known []string) string {
		if len(known) == 0 {
			return "unknown key: there are none here, remove it"
		}
		return "unknown key: " + suggest(key, slices.Sorted(slices.Values(known)))
	},
}

// suggest returns a hint for somebody who wrote word instead of one of known.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "none is known"
	}
	hint := "known: " + strings.Join(known, ", ")
	if best := decode.Nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %q? (%s)", best, hint)
	}
	return hint
}
