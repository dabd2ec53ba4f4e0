package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decode fills cfg from tree and reports every key that does not exist and
// every value of the wrong type. What tree leaves out keeps its value.
//
// It is our own because mapstructure, koanf's decoder, names fields by dotted
// paths, which job names make ambiguous.
func decode(ps *problems, tree map[string]any, cfg *Config) {
	d := decoder{problems: ps, defaults: &cfg.Defaults}
	d.into(nil, tree, reflect.ValueOf(cfg).Elem(), false)
}

type decoder struct {
	*problems
	defaults *JobPolicy // what jobs start from; decoded before them
}

// into decodes in into out. References in text are resolved, unless late.
func (d decoder) into(p path, in any, out reflect.Value, late bool) {
	if in == nil {
		return // `key:` without a value is as good as no key
	}
	if text, ok := in.(string); ok && !late && out.Kind() != reflect.Map {
		resolved, err := Expand(text)
		if err != nil {
			d.at(p, "%v", err)
			return
		}
		in = reread(text, resolved, out)
	}
	switch target := out.Addr().Interface().(type) {
	case *time.Duration:
		d.duration(p, in, target)
		return
	case *time.Time:
		d.instant(p, in, target)
		return
	case *Specs:
		switch in := in.(type) {
		case string:
			*target = Specs{in}
			return
		case []any:
		default:
			d.wrong(p, in, "a schedule, or a list of them,", "; put it in quotes")
			return
		}
	case *NodeEntry:
		if _, ok := in.(map[string]any); !ok {
			d.into(p, in, reflect.ValueOf(&target.URL).Elem(), true)
			return
		}
	}
	switch out.Kind() {
	case reflect.Struct:
		d.object(p, in, out)
	case reflect.Map:
		d.mapping(p, in, out, late)
	case reflect.Slice:
		d.slice(p, in, out)
	case reflect.String:
		d.text(p, in, out)
	case reflect.Int:
		if n, ok := in.(int); ok {
			out.SetInt(int64(n))
			return
		}
		d.wrong(p, in, "a whole number", "")
	case reflect.Bool:
		if b, ok := in.(bool); ok {
			out.SetBool(b)
			return
		}
		d.wrong(p, in, "true or false", "")
	}
}

// reread takes resolved text for what it would have been in the file, where
// anything but text is wanted.
func reread(text, resolved string, out reflect.Value) any {
	var value any
	if text == resolved || out.Kind() == reflect.String || yaml.Unmarshal([]byte(resolved), &value) != nil {
		return resolved
	}
	return value
}

func (d decoder) object(p path, in any, out reflect.Value) {
	m, ok := in.(map[string]any)
	if !ok {
		d.wrong(p, in, "a mapping of keys and values", "")
		return
	}
	fields := fieldsOf(out.Type())
	for _, f := range fields {
		if value, ok := m[f.key]; ok {
			d.into(p.with(f.key), value, out.FieldByIndex(f.index), f.late)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.key == key }) {
			d.atKey(p.with(key), "%s", unknownKey(key, fields))
		}
	}
}

func (d decoder) mapping(p path, in any, out reflect.Value, late bool) {
	m, ok := in.(map[string]any)
	if !ok {
		d.wrong(p, in, "a mapping of keys and values", "")
		return
	}
	t := out.Type()
	if t.Elem().Kind() == reflect.Interface { // params: left as they are
		out.Set(reflect.ValueOf(m))
		return
	}
	out.Set(reflect.MakeMapWithSize(t, len(m)))
	for key, value := range m {
		elem := reflect.New(t.Elem()).Elem()
		if job, ok := reflect.TypeAssert[*JobConfig](elem.Addr()); ok {
			job.JobPolicy = *d.defaults
		}
		d.into(p.with(key), value, elem, late)
		out.SetMapIndex(reflect.ValueOf(key), elem)
	}
}

func (d decoder) slice(p path, in any, out reflect.Value) {
	items, ok := in.([]any)
	if !ok {
		d.wrong(p, in, "a list", "; write [a, b], or one item per line after a dash")
		return
	}
	out.Set(reflect.MakeSlice(out.Type(), len(items), len(items)))
	late := out.Type().Elem() == reflect.TypeFor[NodeEntry]()
	for i, item := range items {
		d.into(p.with(strconv.Itoa(i)), item, out.Index(i), late)
	}
}

func (d decoder) text(p path, in any, out reflect.Value) {
	s, ok := in.(string)
	if !ok {
		d.wrong(p, in, "text", quoteIt(in))
		return
	}
	if c, ok := reflect.TypeAssert[choice](out); ok && !slices.Contains(c.choices(), s) {
		d.at(p, "%q is not a choice; write %s", s, oneOf(c.choices()))
		return
	}
	out.SetString(s)
}

func (d decoder) duration(p path, in any, out *time.Duration) {
	s, ok := in.(string)
	if !ok {
		d.wrong(p, in, "a duration", "; write a number with its unit, such as 500ms, 15s or 1h30m")
		return
	}
	v, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		d.at(p, "%q is not a duration; write a number with its unit, such as 500ms, 15s or 1h30m", s)
		return
	}
	*out = v
}

func (d decoder) instant(p path, in any, out *time.Time) {
	text, ok := in.(string)
	if !ok {
		d.wrong(p, in, "an instant", "; write one such as 2027-01-01T00:00:00Z")
		return
	}
	if text == "" {
		*out = time.Time{}
		return
	}
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		d.at(p, "%q is not an instant; write date, time and offset from UTC (RFC 3339), such as 2027-01-01T00:00:00Z or 2027-01-01T00:00:00+01:00", text)
	case at.Nanosecond()%int(time.Millisecond) != 0:
		d.at(p, "%q is finer than milliseconds; write whole ones", text)
	default:
		*out = at.UTC()
	}
}

// wrong reports a value of the wrong type without repeating it: it may be a
// secret in the wrong place.
func (d decoder) wrong(p path, in any, want, advice string) {
	d.at(p, "%s where %s belongs%s", describe(in), want, advice)
}

// quoteIt is the advice on a value that YAML takes for something else.
func quoteIt(in any) string {
	switch in.(type) {
	case []any, map[string]any:
		return ""
	default:
		return "; put it in quotes"
	}
}

func describe(in any) string {
	switch in.(type) {
	case string:
		return "text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a mapping"
	case time.Time:
		return "a date"
	default:
		return "a number"
	}
}

func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0] + ", the only one in this release"
	}
	return fmt.Sprintf("%s or %s", strings.Join(values[:len(values)-1], ", "), values[len(values)-1])
}
