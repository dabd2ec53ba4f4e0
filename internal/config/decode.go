package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/replica/settings"
)

// fill decodes tree into cfg and reports every key that does not exist and every value of
// the wrong type. What tree leaves out keeps its value.
//
// It does not use mapstructure, koanf's decoder, which names fields by dotted paths: job
// names make those ambiguous.
func fill(ps *problems, tree map[string]any, cfg *Config) {
	d := decoder{problems: ps, defaults: &cfg.Defaults}
	d.walker = decode.Walker{Own: d.own, Fail: d.fail, Words: words}
	for _, s := range cfg.stores() {
		if _, written := tree[s.section]; written && s.mostHistory > 0 {
			cfg.Defaults.History.Keep = smallKeep
		}
	}
	d.walker.Value(reflect.ValueOf(cfg).Elem(), tree, decode.Place{})
}

type decoder struct {
	*problems
	walker   decode.Walker
	defaults *JobPolicy // what jobs start from; "defaults" is decoded before "jobs", by its name
}

func (d *decoder) fail(p []string, key bool, msg string) {
	if key {
		d.atKey(p, "%s", msg)
	} else {
		d.at(p, "%s", msg)
	}
}

// own resolves references, unless they are late, and decodes what has a form of its own.
func (d *decoder) own(dst reflect.Value, v any, at decode.Place) (any, bool) {
	if job, ok := reflect.TypeAssert[*JobConfig](dst.Addr()); ok {
		job.JobPolicy = *d.defaults
	}
	node, isNode := reflect.TypeAssert[*settings.Node](dst.Addr())
	_, isMapping := v.(map[string]any)
	switch text, isText := v.(string); {
	case v == nil:
		return nil, false
	case dst.Kind() == reflect.Pointer:
		return v, true // what it points to is decoded then
	case isNode && !isMapping:
		d.walker.Value(reflect.ValueOf(&node.URL).Elem(), v, at)
		return nil, false
	case dst.Kind() == reflect.Map, dst.Kind() == reflect.Interface:
	case isText && dst.Type() == reflect.TypeFor[settings.Secret]():
		if _, err := refs.Split(text); err != nil {
			d.at(at.Path, "%v", err)
			return nil, false
		}
	case isText:
		resolved, err := settings.Secret(text).Resolve()
		if err != nil {
			d.at(at.Path, "%v", err)
			return nil, false
		}
		v = readResolved(text, resolved, dst)
	}
	return d.special(dst, v, at)
}

// choicesOf returns the closed list of values that a text may have, by the tag choices of its
// field or, like the policies of package scheduler, by its type; nil: any.
func choicesOf(t reflect.Type, tag reflect.StructTag) []string {
	if list, ok := tag.Lookup("choices"); ok && t.Kind() == reflect.String {
		return strings.Split(list, ",")
	}
	if of, ok := reflect.TypeAssert[interface{ Values() []string }](reflect.Zero(t)); ok {
		return of.Values()
	}
	return nil
}

// special decodes schedules, and checks choices and instants.
func (d *decoder) special(dst reflect.Value, v any, at decode.Place) (any, bool) {
	text, isText := v.(string)
	p := at.Path
	if choices := choicesOf(dst.Type(), at.Tag); choices != nil && isText && !slices.Contains(choices, text) {
		d.at(p, "%q is not a choice; write %s", text, oneOf(choices))
		return nil, false
	}
	switch target := dst.Addr().Interface().(type) {
	case *Specs:
		switch _, isList := v.([]any); {
		case isText:
			*target = Specs{text}
			return nil, false
		case !isList:
			d.at(p, "%s where a schedule, or a list of them, belongs; put it in quotes", words.Describe(v))
			return nil, false
		}
	case *time.Time:
		instant, err := time.Parse(time.RFC3339, text)
		switch {
		case v == "":
			*target = time.Time{}
			return nil, false
		case err == nil && instant.Nanosecond()%int(time.Millisecond) != 0:
			d.at(p, "%q is finer than milliseconds; write whole ones", text)
			return nil, false
		case err == nil:
			return instant.UTC(), true
		}
	}
	return v, true
}

// readResolved takes resolved text for what it would have been in the file, where
// anything but text is wanted.
func readResolved(text, resolved string, out reflect.Value) any {
	var value any
	if text == resolved || isText(out.Type()) || yaml.Unmarshal([]byte(resolved), &value) != nil {
		return resolved
	}
	return value
}

// oneOf lists at least two values.
func oneOf(values []string) string {
	return fmt.Sprintf("%s or %s", strings.Join(values[:len(values)-1], ", "), values[len(values)-1])
}

// typeAt returns the type of the value at p, nil where anything goes or
// nothing is.
func typeAt(p path) reflect.Type {
	t := reflect.TypeFor[Config]()
	for _, step := range p {
		t = memberType(t, step)
	}
	return t
}

// memberType returns the type of a step into t, nil if it is not known.
func memberType(t reflect.Type, step string) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map && t.Elem().Kind() != reflect.Interface:
		return t.Elem()
	case t.Kind() == reflect.Struct:
		for _, field := range decode.Fields(t) {
			if field.Name == step {
				return field.Type
			}
		}
	}
	return nil
}

// words are how mistakes in the file are put.
var words = decode.Words{
	Mismatch: "%s where %s",
	Is: map[decode.Kind]string{
		decode.Text: "text", decode.Bool: "true or false", decode.Whole: "a number", decode.Number: "a number",
		decode.Instant: "a date", decode.List: "a list", decode.Mapping: "a mapping", decode.Nothing: "nothing",
	},
	Want: map[decode.Kind]string{
		decode.Text: "text belongs", decode.Bool: "true or false belongs", decode.Whole: "a whole number belongs",
		decode.Duration: "a duration belongs; write a number with its unit, such as 500ms, 15s or 1h30m",
		decode.Instant:  "an instant belongs; write one such as 2027-01-01T00:00:00Z",
		decode.List:     "a list belongs; write [a, b], or one item per line after a dash",
		decode.Mapping:  "a mapping of keys and values belongs",
	},
	Quote: "; put it in quotes",
	Unknown: func(key string, known []string) string {
		if near := decode.Nearest(key, known); near != "" {
			return fmt.Sprintf("unknown key; did you mean %s?", near)
		}
		return "unknown key; known here: " + strings.Join(known, ", ")
	},
}
