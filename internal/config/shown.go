package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
)

// secretKey matches the names of params that may hold secrets.
var secretKey = regexp.MustCompile(`(?i)pass|pwd|secret|token|authori[sz]ation|credential|cookie|private|dsn|(^|[^a-z])key$|api[-_]?key`)

// harmlessKey matches the names under env and headers whose values are no secrets. The value of
// any other name may be one.
var harmlessKey = regexp.MustCompile(`(?i)^(path|home|tz|lang|lc_[a-z]+|shell|user|pwd|tmpdir|term|editor|hostname|log_level|` +
	`accept|accept-language|cache-control|content-type|host|user-agent)$`)

// holdsSecrets reports whether any value of the map with this name may be a secret.
func holdsSecrets(name string) bool { return name == "env" || name == "headers" }

// secretEntry reports whether the value of an entry of params may be a secret; name is
// that of the map.
func secretEntry(name, key string) bool {
	if holdsSecrets(name) {
		return !harmlessKey.MatchString(key)
	}
	return secretKey.MatchString(key)
}

// Shown returns the configuration in a form that JSON can write, with the keys of
// the file and without secrets.
func (c *Config) Shown() any { return show(reflect.ValueOf(*c), "", false) }

// byProgram is the source of what a program set in Go.
const byProgram = "the program"

// SourceOf returns where the value at the path comes from: a line of the file, an environment
// variable, a flag or the program, and the references in it. It is "" if that is not known.
func (c *Config) SourceOf(at ...string) string {
	o, p := c.origin, path(at)
	if o == nil {
		return byProgram
	}
	for i := range p {
		if slices.Contains(c.outdated, p[:i+1].String()) {
			return "read at the start; changed since"
		}
	}
	source := o.source(p)
	if source == "" || source == byProgram {
		return source
	}
	parts := []string{source}
	text, _ := textAt(o.tree, p)
	for _, ref := range refs.In(text) {
		if ref.Kind == "env" {
			parts = append(parts, "environment variable "+ref.Name)
		} else {
			parts = append(parts, "file "+withoutDirectory(ref.Name))
		}
	}
	return strings.Join(parts, ", ")
}

// source returns the label of the override that set the value at p, or its line in the file; "" if
// it was not written.
func (o *origin) source(p path) string {
	for _, set := range slices.Backward(o.overrides) {
		if p.within(set.path) && holds(set.value, p[len(set.path):]) {
			return set.label
		}
	}
	key, _, depth := find(o.root, p)
	if key == nil || depth < len(p) {
		return ""
	}
	return fmt.Sprintf("%s:%d", withoutDirectory(o.file), key.Line)
}

// holds reports whether an override with the value sets what p leads to in it. A mapping is merged
// with that of the file: it sets only its own keys.
func holds(value any, p path) bool {
	mapping, ok := value.(map[string]any)
	if !ok || len(p) == 0 {
		return true
	}
	inner, has := mapping[p[0]]
	return has && holds(inner, p[1:])
}

// withoutDirectory returns the last element of an absolute path: viewers need not know the
// directories of the machine. A relative path stays as the operator wrote it.
func withoutDirectory(file string) string {
	if filepath.IsAbs(file) {
		return filepath.Base(file)
	}
	return file
}

// show returns the value that is called name with secrets hidden, if it may hold some.
func show(v reflect.Value, name string, secret bool) any {
	v = reflect.Indirect(v)
	switch in := v.Interface().(type) {
	case time.Duration:
		return short(in)
	case time.Time:
		if in.IsZero() {
			return ""
		}
		return in.Format(time.RFC3339)
	case fmt.Stringer:
		return in.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		all := map[string]any{}
		for _, f := range decode.Fields(v.Type()) {
			all[f.Name] = show(v.FieldByIndex(f.Index), f.Name, secret)
		}
		return all
	case reflect.Map:
		all := map[string]any{}
		for entry := v.MapRange(); entry.Next(); {
			key := fmt.Sprint(entry.Key().Interface())
			all[key] = show(entry.Value(), key, secret || v.Type().Elem().Kind() == reflect.Interface && secretEntry(name, key))
		}
		return all
	case reflect.Slice:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = show(v.Index(i), name, secret)
		}
		return all
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return show(v.Elem(), name, secret)
	case reflect.String:
		return refs.Hide(v.String(), secret)
	}
	switch {
	case secret && !v.IsZero():
		return "***"
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64) // also those that JSON has no form for
	}
	return v.Interface()
}

// shown returns the settings in effect of a job, in a form that JSON can write,
// without secrets. Settings that are unset, as in a job that says nothing, are left out. Jobs
// with the same hash have the same settings.
func (b *builder) shown(name string) any {
	job, silent := b.cfg.Jobs[name], JobConfig{JobPolicy: DefaultPolicy()}
	job.Timezone = b.timezone(job)
	all := showSet(job, silent)
	if len(job.Exclude) > 0 {
		days := map[string]any{}
		for _, name := range job.Exclude {
			days[name] = b.shownCalendar(name)
		}
		all["calendars"] = days
	}
	return all
}

// shownCalendar is a calendar as it was written and, since files change, a hash of what
// it holds.
func (b *builder) shownCalendar(name string) any {
	cfg := b.cfg.Calendars[name]
	all := showSet(cfg, CalendarConfig{})
	if cfg.ICS != "" {
		all["content"] = contentHash(b.calendars[name])
	}
	return all
}

// showSet shows a struct without the settings that are unset in it and in the default.
func showSet(v, usual any) map[string]any {
	shown, silent := show(reflect.ValueOf(v), "", false), show(reflect.ValueOf(usual), "", false)
	return omitUnset(shown.(map[string]any), silent.(map[string]any))
}

// omitUnset returns shown without the values that are unset in it and in silent.
func omitUnset(shown, silent map[string]any) map[string]any {
	kept := map[string]any{}
	for key, v := range shown {
		usual, known := silent[key]
		nested, isMap := v.(map[string]any)
		base, both := usual.(map[string]any)
		switch {
		case known && isMap && both && len(base) > 0:
			if nested = omitUnset(nested, base); len(nested) > 0 {
				kept[key] = nested
			}
		case !known || !isUnset(v) || !reflect.DeepEqual(v, usual):
			kept[key] = v
		}
	}
	return kept
}

// isUnset reports whether a shown value is empty, zero or off.
func isUnset(v any) bool {
	switch in := reflect.ValueOf(v); in.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Map, reflect.Slice:
		return in.Len() == 0
	default:
		return in.IsZero() || v == short(0)
	}
}

// differences returns the settings of one struct that differ from those of
// another of its type, by path: nested structs are taken apart, maps and lists
// compared whole.
func differences(from, to any) map[string]any {
	found := map[string]any{}
	differ(found, nil, reflect.ValueOf(from), reflect.ValueOf(to))
	return found
}

func differ(found map[string]any, p path, from, to reflect.Value) {
	for _, f := range decode.Fields(to.Type()) {
		a, b, at := from.FieldByIndex(f.Index), to.FieldByIndex(f.Index), p.with(f.Name)
		switch {
		case b.Kind() == reflect.Struct && b.Type() != reflect.TypeFor[time.Time]():
			differ(found, at, a, b)
		case !same(a, b):
			found[at.String()] = b.Interface()
		}
	}
}

// same compares values; a map or list without elements is none.
func same(a, b reflect.Value) bool {
	if (a.Kind() == reflect.Map || a.Kind() == reflect.Slice) && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// hash tells versions of a job apart. It is made of what differs from a job
// that says nothing, so that a release that knows more settings computes the
// same as one that does not, as long as they are not used. What is in its
// calendars is part of it.
func (b *builder) hash(job JobConfig) string {
	job.Timezone, job.Formerly = cmp.Or(job.Timezone, b.cfg.Scheduler.Timezone), ""
	silent := JobConfig{JobPolicy: DefaultPolicy()}
	silent.Timezone = "UTC"
	made := differences(silent, job)
	for _, name := range job.Exclude {
		made["calendars."+name] = b.calendars[name]
	}
	return contentHash(made)
}

// contentHash is a short hash of whatever has a written form.
func contentHash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Appendf(nil, "%#v", v) // params that JSON has no form for, such as .inf
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// NeedRestart lists the settings that differ and are not taken in by a reload.
func NeedRestart(from, to *Config) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(differences(*from, *to))), func(key string) bool {
		return key == "jobs" || key == "calendars" || key == "scheduler.timezone" || strings.HasPrefix(key, "defaults.")
	})
}
