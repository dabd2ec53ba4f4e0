// Package decode puts trees of plain values, as YAML and JSON have them, into Go values. It
// reports every mistake with its path instead of stopping at the first.
//
// The configuration file and the params of jobs are both decoded here. They differ in their
// words, and in a few types that are special to them.
package decode

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
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

// A Field is one key that a struct takes.
type Field struct {
	Name  string
	Exact bool // known by its tag, so matched as written
	Index []int
	Type  reflect.Type
	Tag   reflect.StructTag
}

func (f Field) matches(key string) bool {
	return f.Name == key || !f.Exact && strings.EqualFold(f.Name, key)
}

func names(fields []Field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.Name
	}
	return all
}

// Fields lists the keys of struct type t by the names in its json tags, as encoding/json finds
// them: its own fields and those of embedded structs. Of several with one name the least deep
// one counts, then the one with a tag; if none is left over, no field has the name.
func Fields(t reflect.Type) []Field {
	all := fieldsOf(t, nil)
	return slices.DeleteFunc(slices.Clone(all), func(f Field) bool {
		return slices.ContainsFunc(all, func(other Field) bool {
			return other.Name == f.Name && !slices.Equal(other.Index, f.Index) && !f.hides(other)
		})
	})
}

// hides tells whether f counts, and not other.
func (f Field) hides(other Field) bool {
	if len(f.Index) != len(other.Index) {
		return len(f.Index) < len(other.Index)
	}
	return f.Exact && !other.Exact
}

// fieldsOf leaves out pointers that lead to a struct already entered.
func fieldsOf(t reflect.Type, within []reflect.Type) []Field {
	var own, promoted []Field
	within = append(slices.Clip(within), t)
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			// The fields of an unexported embedded pointer cannot be reached.
			if slices.Contains(within, embedded) || !f.IsExported() && f.Type.Kind() == reflect.Pointer {
				continue
			}
			for _, inner := range fieldsOf(embedded, within) {
				inner.Index = append(slices.Clone(f.Index), inner.Index...)
				promoted = append(promoted, inner)
			}
		case f.IsExported():
			exact := name != ""
			if !exact {
				name = strings.ToLower(f.Name)
			}
			own = append(own, Field{name, exact, f.Index, f.Type, f.Tag})
		}
	}
	return append(own, promoted...)
}

// fieldAt returns a field of the struct v. It makes the embedded structs on the way that
// are nil.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

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

// Texts yields the texts in the tree v with their paths, sorted by key.
func Texts(v any, path []string) iter.Seq2[[]string, string] {
	return func(yield func([]string, string) bool) {
		_, _ = Map(v, path, func(leaf any, path []string) (any, error) {
			if text, ok := leaf.(string); ok && !yield(path, text) {
				return nil, io.EOF // no more are wanted
			}
			return nil, nil
		})
	}
}

// Clone copies the maps and lists of a tree.
func Clone(v any) any {
	c, _ := Map(v, nil, func(v any, _ []string) (any, error) { return v, nil }) // no leaf fails
	return c
}

// A Kind is what a value of a tree is, or what belongs in its place.
type Kind int

// The kinds of values.
const (
	Other Kind = iota
	Nothing
	Text
	Bool
	Whole
	Number
	Duration
	Instant
	List
	Mapping
)

// Words are how a Walker puts its mistakes.
type Words struct {
	Mismatch string          // what is there and what is wanted: "is %s: want %s"
	Is, Want map[Kind]string // for Mismatch
	Quote    string          // advice where text is wanted and YAML takes it for something else
	Unknown  func(key string, known []string) string
}

// mismatch reports a value of the wrong kind without repeating it: it may be a secret in
// the wrong place.
func (w *Walker) mismatch(path []string, v any, want Kind) {
	msg := fmt.Sprintf(w.Words.Mismatch, w.Words.Describe(v), w.Words.Want[want])
	if kind := kindOf(v); want == Text && kind != List && kind != Mapping {
		msg += w.Words.Quote
	}
	w.fail(path, "%s", msg)
}

// Describe names the kind of v, never the value.
func (w Words) Describe(v any) string {
	if kind := kindOf(v); kind != Other {
		return w.Is[kind]
	}
	return fmt.Sprintf("a %T", v)
}

func kindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return Nothing
	case string:
		return Text
	case bool:
		return Bool
	case map[string]any, map[any]any:
		return Mapping
	case []any:
		return List
	case time.Time:
		return Instant
	}
	switch src := reflect.ValueOf(v); {
	case src.CanInt(), src.CanUint():
		return Whole
	case src.CanFloat():
		return Number
	}
	return Other
}
