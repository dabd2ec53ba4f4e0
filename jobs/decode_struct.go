package jobs

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A field is one key that a struct accepts.
type field struct {
	name   string
	tagged bool // known by its tag, so matched as written
	index  []int
}

func (f field) matches(key string) bool {
	return f.name == key || !f.tagged && strings.EqualFold(f.name, key)
}

func (d *decoder) decodeStruct(dst reflect.Value, v any, path []string) {
	tree, ok := v.(map[string]any)
	if !ok {
		d.fail(path, "is %s: want keys and values", describe(v))
		return
	}
	fields := fieldsOf(dst.Type(), nil)
	given := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.matches(key) })
		if i < 0 {
			d.unknownKey(key, fields, path)
			continue
		}
		if first, twice := given[fields[i].name]; twice {
			d.fail(child(path, key), "is given twice, also as %q: keep one", first)
			continue
		}
		given[fields[i].name] = key
		if tree[key] != nil {
			d.decode(fieldAt(dst, fields[i].index), tree[key], child(path, key))
		}
	}
}

func (d *decoder) unknownKey(key string, fields []field, path []string) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	slices.Sort(names)
	if len(names) == 0 {
		d.fail(child(path, key), "unknown key: there are none here, remove it")
		return
	}
	d.fail(child(path, key), "unknown key: %s", suggest(key, names))
}

// fieldsOf lists the keys of struct type t: its own fields before those of
// embedded structs, so that the outer one of the same name is found first.
// Pointers that lead to a struct already entered add nothing.
func fieldsOf(t reflect.Type, within []reflect.Type) []field {
	var own, promoted []field
	within = append(slices.Clip(within), t)
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case name == "-":
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct && !isText(embedded):
			// The fields of an unexported embedded pointer cannot be reached.
			if slices.Contains(within, embedded) || !f.IsExported() && f.Type.Kind() == reflect.Pointer {
				continue
			}
			for _, inner := range fieldsOf(embedded, within) {
				inner.index = append(slices.Clone(f.Index), inner.index...)
				promoted = append(promoted, inner)
			}
		case !f.IsExported():
		case name != "":
			own = append(own, field{name: name, tagged: true, index: f.Index})
		default:
			own = append(own, field{name: strings.ToLower(f.Name), index: f.Index})
		}
	}
	for _, p := range promoted {
		if !slices.ContainsFunc(own, func(f field) bool { return f.name == p.name }) {
			own = append(own, p)
		}
	}
	return own
}

// fieldAt returns the field of the struct v, making the embedded structs on
// the way that are nil.
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
