// Package decode puts trees of plain values, as YAML and JSON have them, into Go values. It
// reports every mistake with its path instead of stopping at the first.
//
// The configuration file and the params of jobs are both decoded here. They differ in their
// words, and in a few types that are special to them.
package decode

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Walker decodes trees. All its functions are needed.
type Walker struct {
	// Own is called before each value is decoded. It returns the value to decode in its
	// place, or false if nothing is left to do, as where an element of a list or map is nil.
	Own func(dst reflect.Value, v any, at Place) (instead any, more bool)
	// Fail takes a mistake of the value at path, or of the key that path ends in.
	Fail  func(path []string, key bool, msg string)
	Words Words
	// Secret: values may be secrets, so messages do not quote them.
	Secret bool
}

// A Place is where a value stands.
type Place struct {
	Path []string
	Tag  reflect.StructTag // of the innermost struct field around it
}

// Quoted tells whether a value of type t may be quoted here: it is a number or a boolean, and
// the json tag of its field has the option string.
func (p Place) Quoted(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, options, _ := strings.Cut(p.Tag.Get("json"), ",")
	v := reflect.New(t).Elem()
	return slices.Contains(strings.Split(options, ","), "string") && (v.Kind() == reflect.Bool || v.CanInt() || v.CanUint() || v.CanFloat())
}

// unquoted returns the number or boolean that a quoted v stands for, if it has one.
func (p Place) unquoted(t reflect.Type, v any) any {
	text, isText := v.(string)
	if !isText || !p.Quoted(t) {
		return v
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	return v
}

// Child returns path with one more step. Mistakes keep paths, so no two share memory.
func Child(path []string, step string) []string { return append(slices.Clip(path), step) }

// Value decodes v into dst. What v leaves out keeps its value.
func (w *Walker) Value(dst reflect.Value, v any, at Place) {
	v, more := w.Own(dst, v, at)
	if !more || w.parsed(dst, v, at.Path) {
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		w.Value(dst.Elem(), v, at)
	case reflect.Struct:
		fields := Fields(dst.Type())
		w.Members(fields, v, at.Path, func(i int, v any, path []string) {
			if v != nil { // `key:` without a value is as good as no key
				w.Value(fieldAt(dst, fields[i].Index), v, Place{path, fields[i].Tag})
			}
		})
	case reflect.Map:
		w.setMap(dst, v, at)
	case reflect.Slice:
		w.setSlice(dst, v, at)
	case reflect.Array:
		w.setArray(dst, v, at)
	case reflect.Interface:
		if held := dst.Elem(); held.Kind() == reflect.Pointer && !held.IsNil() { // a default
			w.Value(held.Elem(), v, at)
			return
		}
		if dst.NumMethod() > 0 {
			w.fail(at.Path, "cannot be set: its field has the interface type %s", dst.Type())
			return
		}
		dst.Set(reflect.ValueOf(Clone(v)))
	default:
		w.scalar(dst, at.unquoted(dst.Type(), v), at.Path)
	}
}

func (w *Walker) fail(path []string, format string, args ...any) {
	w.Fail(path, false, fmt.Sprintf(format, args...))
}

// setMap replaces the map dst: a map is written as a whole.
func (w *Walker) setMap(dst reflect.Value, v any, at Place) {
	t := dst.Type()
	if !isKey(t.Key()) {
		w.fail(at.Path, "cannot be set: its field is a map with keys that are no text (%s)", t)
		return
	}
	m := reflect.MakeMap(t)
	if w.Entries(v, at.Path, func(name string, v any, path []string) {
		k, err := key(t.Key(), name)
		if err != nil {
			w.Fail(path, true, err.Error())
			return
		}
		e := reflect.New(t.Elem()).Elem()
		w.Value(e, v, Place{path, at.Tag})
		m.SetMapIndex(k, e)
	}) {
		dst.Set(m)
	}
}

func (w *Walker) setSlice(dst reflect.Value, v any, at Place) {
	s := reflect.MakeSlice(dst.Type(), 0, 0)
	if w.Items(v, at.Path, func(v any, path []string) {
		e := reflect.New(dst.Type().Elem()).Elem()
		w.Value(e, v, Place{path, at.Tag})
		s = reflect.Append(s, e)
	}) {
		dst.Set(s)
	}
}

// setArray sets the elements that v has, and the others to zero.
func (w *Walker) setArray(dst reflect.Value, v any, at Place) {
	if list, _ := v.([]any); len(list) > dst.Len() {
		w.fail(at.Path, "has %d elements: want at most %d", len(list), dst.Len())
		return
	}
	dst.SetZero()
	i := 0
	w.Items(v, at.Path, func(v any, path []string) {
		w.Value(dst.Index(i), v, Place{path, at.Tag})
		i++
	})
}

// Members calls each for the entries of the mapping v, with the index of the field that the
// key belongs to. It reports keys that belong to no field, or to the same as another.
func (w *Walker) Members(fields []Field, v any, path []string, each func(i int, v any, path []string)) {
	given := map[int]string{}
	w.Entries(v, path, func(key string, v any, path []string) {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.matches(key) })
		if i < 0 {
			w.Fail(path, true, w.Words.Unknown(key, names(fields)))
			return
		}
		if first, twice := given[i]; twice {
			w.fail(path, "is given twice, also as %q: keep one", first)
			return
		}
		given[i] = key
		each(i, v, path)
	})
}

// Entries calls each for the entries of the mapping v, sorted by key. It reports a v that is
// no mapping.
func (w *Walker) Entries(v any, path []string, each func(key string, v any, path []string)) bool {
	tree, ok := v.(map[string]any)
	if !ok {
		w.mismatch(path, v, Mapping)
	}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		each(key, tree[key], Child(path, key))
	}
	return ok
}

// Items calls each for the elements of the list v. It reports a v that is no list.
func (w *Walker) Items(v any, path []string, each func(v any, path []string)) bool {
	list, ok := v.([]any)
	if !ok {
		w.mismatch(path, v, List)
	}
	for i, e := range list {
		each(e, Child(path, strconv.Itoa(i)))
	}
	return ok
}
