package jobs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/internal/refs"
)

// A ParamUnmarshaler decodes itself from a value of the configuration: a
// map[string]any, []any, string, number, bool or time.Time, never nil.
type ParamUnmarshaler interface {
	UnmarshalParam(value any) error
}

// What a params type may have besides its fields.
type (
	defaulter       interface{ SetDefaults() }
	validator       interface{ Validate() error }
	limitsValidator interface{ ValidateLimits(limits Limits) error }
)

// decodeParams returns params as a P with its defaults, or every mistake found.
func decodeParams[P any](params map[string]any, limits Limits, d decoder) (P, error) {
	p := new(P)
	if s, ok := any(p).(defaulter); ok {
		s.SetDefaults()
	}
	if d.unresolved {
		d.checkReferences(params)
	}
	d.walker().Value(reflect.ValueOf(p).Elem(), params, decode.Place{})
	d.validate(func() error { return validateParams(p, limits) })
	return *p, errors.Join(d.errs...)
}

func validateParams(p any, limits Limits) error {
	var errs []error
	if v, ok := p.(validator); ok {
		errs = append(errs, v.Validate())
	}
	if v, ok := p.(limitsValidator); ok {
		errs = append(errs, v.ValidateLimits(limits))
	}
	return errors.Join(errs...)
}

// validate keeps the findings of check, except those about values that are not known:
// values that did not decode, and references that are resolved when the job runs.
func (d *decoder) validate(check func() error) {
	for _, err := range leaves(check()) {
		at, _ := errors.AsType[*ParamError](err)
		if !d.unseenAt(at) {
			d.errs = append(d.errs, err)
		}
	}
}

// unseenAt reports whether an error at this place may be owed to an unseen value.
func (d *decoder) unseenAt(at *ParamError) bool {
	return slices.ContainsFunc(d.unseen, func(path []string) bool {
		if at == nil {
			return true
		}
		n := min(len(path), len(at.Path))
		return slices.Equal(path[:n], at.Path[:n])
	})
}

// leaves takes apart what errors.Join put together.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []error{err} // one error, or a sentence around several
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}

// A decoder fills values from a decoded configuration and collects every
// mistake instead of stopping at the first.
type decoder struct {
	// unresolved: strings may hold references, to be resolved before each run.
	unresolved bool
	// secret: values may be secrets, so messages must not quote them.
	secret bool

	errs []error
	// unseen are the paths of values that could not be put in their place.
	unseen [][]string
}

func (d *decoder) walker() *decode.Walker {
	return &decode.Walker{Own: d.own, Fail: d.fail, Words: words, Secret: d.secret}
}

func (d *decoder) fail(path []string, _ bool, msg string) {
	d.unseen = append(d.unseen, path)
	d.errs = append(d.errs, &ParamError{Path: path, Msg: msg})
}

// own keeps texts with references for later, and refuses elements without a value where
// their type has none for it.
func (d *decoder) own(dst reflect.Value, v any, at decode.Place) (any, bool) {
	if v == nil {
		if dst.Kind() != reflect.Pointer && dst.Kind() != reflect.Interface {
			d.fail(at.Path, false, `has no value: write one, "" for an empty string`)
		}
		return nil, false
	}
	text, isText := v.(string)
	parses := decode.IsText(dst.Type()) || at.Quoted(dst.Type())
	whole := parses || dst.Kind() == reflect.Interface // its parts do not come here
	if !d.unresolved || dst.Kind() == reflect.Pointer || !isText && !whole {
		return v, true
	}
	if d.refers(v) {
		d.unseen = append(d.unseen, at.Path)
		return v, !parses // parsed once it is resolved
	}
	if parts, _ := refs.Split(text); len(parts) == 1 {
		return parts[0].Text, true // without the marks of escapes
	}
	return v, true
}

// refers reports whether a text in v may be another one at each run.
func (d *decoder) refers(v any) bool {
	found := false
	_, _ = decode.Map(v, nil, func(v any, _ []string) (any, error) { // no leaf fails
		if text, ok := v.(string); ok {
			parts, err := refs.Split(text)
			found = found || err != nil || slices.ContainsFunc(parts, func(p refs.Part) bool { return p.Kind != "" })
		}
		return v, nil
	})
	return found
}

// checkReferences reports texts that look like references and are none.
func (d *decoder) checkReferences(params map[string]any) {
	_, _ = decode.Map(params, nil, func(v any, path []string) (any, error) { // no leaf fails
		if text, ok := v.(string); ok {
			if _, err := refs.Split(text); err != nil {
				d.fail(path, false, err.Error())
			}
		}
		return v, nil
	})
}

// words are how mistakes in params are put.
var words = decode.Words{
	Mismatch: "is %s: want %s",
	Is: map[decode.Kind]string{
		decode.Text: "a string", decode.Bool: "a boolean", decode.Whole: "a whole number", decode.Number: "a number with a fraction",
		decode.Instant: "a date", decode.List: "a list", decode.Mapping: "a mapping", decode.Nothing: "empty",
	},
	Want: map[decode.Kind]string{
		decode.Text: "a string", decode.Bool: "true or false", decode.Whole: "a whole number", decode.Number: "a number",
		decode.Duration: "a duration with its unit, such as 30s", decode.Instant: "an instant, such as 2026-12-01T00:00:00Z",
		decode.List: "a list", decode.Mapping: "keys and values",
	},
	Quote: ", write it in quotes",
	Unknown: func(key string, known []string) string {
		if len(known) == 0 {
			return "unknown key: there are none here, remove it"
		}
		return "unknown key: " + suggest(key, slices.Sorted(slices.Values(known)))
	},
}

// suggest returns a hint for somebody who wrote word instead of one of known.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "none is known"
	}
	hint := "known: " + strings.Join(known, ", ")
	if best := decode.Nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %q? (%s)", best, hint)
	}
	return hint
}

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
