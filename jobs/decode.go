package jobs

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

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

func (d *decoder) decodeRoot(p any, params map[string]any) {
	d.decode(reflect.ValueOf(p).Elem(), params, nil)
}

func (d *decoder) fail(path []string, format string, args ...any) {
	d.unseen = append(d.unseen, path)
	d.errs = append(d.errs, &ParamError{Path: path, Msg: fmt.Sprintf(format, args...)})
}

// child returns path with one more element. Errors keep it, so no other path
// may share its memory.
func child(path []string, key string) []string {
	return append(slices.Clip(path), key)
}

// decode puts v, which is not nil, into dst.
func (d *decoder) decode(dst reflect.Value, v any, path []string) {
	if s, ok := v.(string); ok && d.unresolved && hasReference(s) {
		d.unseen = append(d.unseen, path)
		if isText(dst.Type()) {
			return // parsed once it is resolved
		}
	}
	if d.decodeSelf(dst, v, path) {
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		d.decodePointer(dst, v, path)
	case reflect.Struct:
		d.decodeStruct(dst, v, path)
	case reflect.Map:
		d.decodeMap(dst, v, path)
	case reflect.Slice:
		d.decodeSlice(dst, v, path)
	case reflect.Interface:
		d.decodeAny(dst, v, path)
	default:
		d.decodeScalar(dst, v, path)
	}
}

// isText tells whether values of type t are parsed from strings.
func isText(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[time.Duration]() ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) ||
		p.Implements(reflect.TypeFor[ParamUnmarshaler]())
}

// decodeSelf serves the types that know their own text; false for others.
func (d *decoder) decodeSelf(dst reflect.Value, v any, path []string) bool {
	switch p := dst.Addr().Interface().(type) {
	case *time.Duration:
		d.decodeDuration(p, v, path)
	case *time.Time:
		d.decodeTime(p, v, path)
	case ParamUnmarshaler:
		d.parsed(p.UnmarshalParam(v), v, path)
	case encoding.TextUnmarshaler:
		if s, ok := v.(string); ok {
			d.parsed(p.UnmarshalText([]byte(s)), v, path)
		} else {
			d.fail(path, "is %s: want a string", describe(v))
		}
	default:
		return false
	}
	return true
}

// parsed reports what a type's own decoding said about v, without its words
// where they may quote a secret.
func (d *decoder) parsed(err error, v any, path []string) {
	switch {
	case err == nil:
	case d.secret:
		d.fail(path, "%s cannot be parsed (its text is not shown, it may be secret)", describe(v))
	default:
		d.fail(path, "%v", err)
	}
}

func (d *decoder) decodeDuration(p *time.Duration, v any, path []string) {
	s, ok := v.(string)
	if !ok {
		d.fail(path, "is %s: want a duration with its unit, such as 30s", describe(v))
		return
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		err = fmt.Errorf("%q is no duration: write a number and a unit, such as 300ms, 30s or 1h30m", s)
	}
	d.parsed(err, v, path)
	*p = t
}

func (d *decoder) decodeTime(p *time.Time, v any, path []string) {
	switch v := v.(type) {
	case time.Time:
		*p = v
	case string:
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			err = fmt.Errorf("%q is no instant: write one as 2026-12-01T00:00:00Z (RFC 3339)", v)
		}
		d.parsed(err, v, path)
		*p = t
	default:
		d.fail(path, "is %s: want an instant, such as 2026-12-01T00:00:00Z", describe(v))
	}
}

func (d *decoder) decodePointer(dst reflect.Value, v any, path []string) {
	if dst.IsNil() {
		dst.Set(reflect.New(dst.Type().Elem()))
	}
	d.decode(dst.Elem(), v, path)
}

func (d *decoder) decodeAny(dst reflect.Value, v any, path []string) {
	if dst.NumMethod() > 0 {
		d.fail(path, "cannot be set: its field has the interface type %s", dst.Type())
		return
	}
	dst.Set(reflect.ValueOf(cloneTree(v)))
}

func (d *decoder) decodeSlice(dst reflect.Value, v any, path []string) {
	list, ok := v.([]any)
	if !ok {
		d.fail(path, "is %s: want a list", describe(v))
		return
	}
	s := reflect.MakeSlice(dst.Type(), len(list), len(list))
	for i, e := range list {
		d.decodeElement(s.Index(i), e, child(path, strconv.Itoa(i)))
	}
	dst.Set(s)
}

// decodeMap replaces what the defaults put there: a map of the configuration
// is whole.
func (d *decoder) decodeMap(dst reflect.Value, v any, path []string) {
	tree, ok := v.(map[string]any)
	switch {
	case !ok:
		d.fail(path, "is %s: want keys and values", describe(v))
		return
	case dst.Type().Key().Kind() != reflect.String:
		d.fail(path, "cannot be set: its field is a map without string keys (%s)", dst.Type())
		return
	}
	m := reflect.MakeMapWithSize(dst.Type(), len(tree))
	for _, k := range slices.Sorted(maps.Keys(tree)) {
		e := reflect.New(dst.Type().Elem()).Elem()
		d.decodeElement(e, tree[k], child(path, k))
		m.SetMapIndex(reflect.ValueOf(k).Convert(dst.Type().Key()), e)
	}
	dst.Set(m)
}

// decodeElement puts v into an element of a list or map, where nothing is a
// value only if the type has one for it.
func (d *decoder) decodeElement(dst reflect.Value, v any, path []string) {
	switch {
	case v != nil:
		d.decode(dst, v, path)
	case dst.Kind() != reflect.Pointer && dst.Kind() != reflect.Interface:
		d.fail(path, `has no value: write one, "" for an empty string`)
	}
}
