package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
)

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
	if a.Kind() == reflect.Map || a.Kind() == reflect.Slice {
		if a.Len() == 0 && b.Len() == 0 {
			return true
		}
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
