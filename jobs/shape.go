package jobs

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
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
	if text, err := json.Marshal(s); err != nil || len(text) > maxShape {
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
	if isText(t) || slices.Contains(within, t) {
		return Shape{}
	}
	within = append(slices.Clip(within), t)
	switch t.Kind() {
	case reflect.Struct:
		s := Shape{Kind: kindStruct}
		for _, f := range fieldsOf(t, nil) {
			s.Fields = append(s.Fields, ShapeField{f.name, !f.tagged, shapeOf(t.FieldByIndex(f.index).Type, within)})
		}
		return s
	case reflect.Slice:
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
	d.check(*s, params, nil)
	return errors.Join(d.errs...)
}

// check finds the mistakes that decode would find in v, which is not nil.
func (d *decoder) check(s Shape, v any, path []string) {
	switch s.Kind {
	case kindStruct:
		d.checkStruct(s, v, path)
	case kindMap:
		tree, ok := v.(map[string]any)
		if !ok {
			d.fail(path, "is %s: want keys and values", describe(v))
		}
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			d.checkElement(s.Of, tree[key], child(path, key))
		}
	case kindList:
		list, ok := v.([]any)
		if !ok {
			d.fail(path, "is %s: want a list", describe(v))
		}
		for i, e := range list {
			d.checkElement(s.Of, e, child(path, strconv.Itoa(i)))
		}
	default:
		if t := plainType(s.Kind); t != nil {
			d.decode(reflect.New(t).Elem(), v, path)
		}
	}
}

func (d *decoder) checkStruct(s Shape, v any, path []string) {
	tree, ok := v.(map[string]any)
	if !ok {
		d.fail(path, "is %s: want keys and values", describe(v))
		return
	}
	fields := make([]field, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = field{name: f.Name, tagged: !f.AnyCase}
	}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.matches(key) })
		if i < 0 {
			d.unknownKey(key, fields, path)
		} else {
			d.checkElement(&s.Fields[i].Shape, tree[key], child(path, key))
		}
	}
}

func (d *decoder) checkElement(s *Shape, v any, path []string) {
	if s != nil && v != nil {
		d.check(*s, v, path)
	}
}
