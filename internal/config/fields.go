package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/quorate/quorate/jobs"
)

// A field is a key that a struct of the configuration takes.
type field struct {
	key   string
	index []int
	late  bool // references in it are resolved when used
	typ   reflect.Type
}

// fieldsOf lists the keys of a struct, embedded ones included, in order.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous || f.Tag.Get("json") == "-" {
			continue
		}
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, field{key, f.Index, f.Tag.Get("resolve") == "late", f.Type})
	}
	return fields
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
	case t.Kind() == reflect.Map && t.Elem().Kind() != reflect.Interface:
		return t.Elem()
	case t.Kind() == reflect.Slice:
		return t.Elem()
	case t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		if i := slices.IndexFunc(fields, func(f field) bool { return f.key == step }); i >= 0 {
			return fields[i].typ
		}
	}
	return nil
}

// unknownKey says what to write instead of a key that does not exist.
func unknownKey(key string, fields []field) string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	if near := jobs.Nearest(key, keys); near != "" {
		return fmt.Sprintf("unknown key; did you mean %s?", near)
	}
	return "unknown key; known here: " + strings.Join(keys, ", ")
}
