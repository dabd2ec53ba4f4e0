package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/decode"
)

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
		fields := decode.Fields(t)
		if i := slices.IndexFunc(fields, func(f decode.Field) bool { return f.Name == step }); i >= 0 {
			return fields[i].Type
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
