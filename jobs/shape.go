package jobs

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/plainjson"
)

// A Shape says which params a function takes, for programs that lack the function. It
// checks keys and types. What the function's own Validate refuses it does not know.
type Shape struct {
	// Kind is "struct", "list", "map", "duration", "time" or a basic type of Go, such as
	// "int64". Empty: anything.
	Kind   string       `json:"kind,omitempty"`
	Fields []ShapeField `json:"fields,omitempty"` // of a struct
	Of     *Shape       `json:"of,omitempty"`     // each element of a list or map
}

// A ShapeField is a key that a struct takes.
type ShapeField struct {
	Name    string `json:"name"`
	AnyCase bool   `json:"any_case,omitempty"`
	Shape
}

// Kinds of shapes that have parts or are more than a basic type.
const (
	kindStruct   = "struct"
	kindList     = "list"
	kindMap      = "map"
	kindDuration = "duration"
	kindTime     = "time"
)

// NoShape is the shape of no params at all.
func NoShape() *Shape { return &Shape{Kind: kindStruct} }

// Shape returns which params the function registered under name takes; nil if there is no
// such function, or its params are too many to be written in 16 KiB.
func (r *Registry) Shape(name string) *Shape { return r.shapes[name] }

// maxShape is how many bytes a shape may have in writing: it is published with each job.
const maxShape = 16 << 10

// newShape describes the params type t; nil if that takes too many bytes.
func newShape(t reflect.Type) *Shape {
	s := shapeOf(t, nil)
	if text, err := plainjson.Marshal(s); err != nil || len(text) > maxShape {
		return nil
	}
	return &s
}

// shapeOf describes the type t. What refers to itself is anything.
func shapeOf(t reflect.Type, within []reflect.Type) Shape {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Duration]() {
		return Shape{Kind: kindDuration}
	}
	if t == reflect.TypeFor[time.Time]() {
		return Shape{Kind: kindTime}
	}
	if decode.IsText(t) || slices.Contains(within, t) {
		return Shape{}
	}
	within = append(slices.Clip(within), t)
	switch t.Kind() {
	case reflect.Struct:
		s := Shape{Kind: kindStruct}
		for _, f := range decode.Fields(t) {
			field := ShapeField{Name: f.Name, AnyCase: !f.Exact}
			if at := (decode.Place{Tag: f.Tag}); !at.Quoted(f.Type) {
				field.Shape = shapeOf(f.Type, within)
			}
			s.Fields = append(s.Fields, field)
		}
		return s
	case reflect.Slice, reflect.Array:
		of := shapeOf(t.Elem(), within)
		return Shape{Kind: kindList, Of: &of}
	case reflect.Map:
		of := shapeOf(t.Elem(), within)
		return Shape{Kind: kindMap, Of: &of}
	default:
		if plainType(t.Kind().String()) == nil {
			return Shape{}
		}
		return Shape{Kind: t.Kind().String()}
	}
}

// plainType is the type of a kind without parts; nil if there is none.
func plainType(kind string) reflect.Type {
	switch kind {
	case kindDuration:
		return reflect.TypeFor[time.Duration]()
	case kindTime:
		return reflect.TypeFor[time.Time]()
	}
	for _, v := range []any{
		"", false, 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0),
		float32(0), float64(0),
	} {
		if t := reflect.TypeOf(v); t.Name() == kind {
			return t
		}
	}
	return nil
}

// Check returns the *ParamErrors of params that do not fit, joined. Not all need to be
// there.
func (s *Shape) Check(params map[string]any) error {
	var d decoder
	s.check(d.walker(), params, nil)
	return errors.Join(d.errs...)
}

// check finds the mistakes that decoding would find in v.
func (s *Shape) check(w *decode.Walker, v any, path []string) {
	if s == nil || v == nil {
		return
	}
	switch s.Kind {
	case kindStruct:
		fields := make([]decode.Field, len(s.Fields))
		for i, f := range s.Fields {
			fields[i] = decode.Field{Name: f.Name, Exact: !f.AnyCase}
		}
		w.Members(fields, v, path, func(i int, v any, path []string) { s.Fields[i].check(w, v, path) })
	case kindMap:
		w.Entries(v, path, func(_ string, v any, path []string) { s.Of.check(w, v, path) })
	case kindList:
		w.Items(v, path, func(v any, path []string) { s.Of.check(w, v, path) })
	default:
		if t := plainType(s.Kind); t != nil {
			w.Value(reflect.New(t).Elem(), v, decode.Place{Path: path})
		}
	}
}
