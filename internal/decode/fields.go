package decode

import (
	"reflect"
	"slices"
	"strings"
)

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
