package jobs

import (
	"fmt"
	"reflect"
	"time"
)

// decodeScalar puts a string, a boolean or a number into dst, if it fits.
func (d *decoder) decodeScalar(dst reflect.Value, v any, path []string) {
	src := reflect.ValueOf(v)
	switch {
	case dst.Kind() == reflect.String:
		d.decodeString(dst, v, path)
	case dst.Kind() == reflect.Bool:
		if src.Kind() != reflect.Bool {
			d.fail(path, "is %s: want true or false", describe(v))
			return
		}
		dst.SetBool(src.Bool())
	case dst.CanInt(), dst.CanUint():
		d.decodeWhole(dst, src, path)
	case dst.CanFloat():
		d.decodeFloat(dst, src, path)
	default:
		d.fail(path, "cannot be set: its field has the type %s", dst.Type())
	}
}

func (d *decoder) decodeString(dst reflect.Value, v any, path []string) {
	s, ok := v.(string)
	if !ok {
		hint := ""
		switch v.(type) {
		case map[string]any, []any:
		default:
			hint = ", write it in quotes"
		}
		d.fail(path, "is %s: want a string%s", describe(v), hint)
		return
	}
	dst.SetString(s)
}

func (d *decoder) decodeWhole(dst, src reflect.Value, path []string) {
	var fits bool
	switch {
	case src.CanInt() && dst.CanInt():
		if fits = !dst.OverflowInt(src.Int()); fits {
			dst.SetInt(src.Int())
		}
	case src.CanInt():
		if fits = src.Int() >= 0 && !dst.OverflowUint(uint64(src.Int())); fits {
			dst.SetUint(uint64(src.Int()))
		}
	case src.CanUint() && dst.CanUint():
		if fits = !dst.OverflowUint(src.Uint()); fits {
			dst.SetUint(src.Uint())
		}
	case src.CanUint():
		if fits = src.Uint() <= 1<<63-1 && !dst.OverflowInt(int64(src.Uint())); fits {
			dst.SetInt(int64(src.Uint()))
		}
	default:
		d.fail(path, "is %s: want a whole number", describe(src.Interface()))
		return
	}
	if !fits {
		d.fail(path, "%v is out of range: want %s", src, rangeOf(dst))
	}
}

func (d *decoder) decodeFloat(dst, src reflect.Value, path []string) {
	var f float64
	switch {
	case src.CanFloat():
		f = src.Float()
	case src.CanInt():
		f = float64(src.Int())
	case src.CanUint():
		f = float64(src.Uint())
	default:
		d.fail(path, "is %s: want a number", describe(src.Interface()))
		return
	}
	if dst.OverflowFloat(f) {
		d.fail(path, "%v is out of range for a %s", f, dst.Kind())
		return
	}
	dst.SetFloat(f)
}

// rangeOf says which whole numbers the integer dst can hold.
func rangeOf(dst reflect.Value) string {
	bits := dst.Type().Bits()
	if dst.CanUint() {
		return fmt.Sprintf("0 to %d", ^uint64(0)>>(64-bits))
	}
	return fmt.Sprintf("%d to %d", int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
}

// describe names the kind of a value of the configuration, never the value.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case float32, float64:
		return "a number with a fraction"
	case time.Time:
		return "a date"
	}
	if rv := reflect.ValueOf(v); rv.CanInt() || rv.CanUint() {
		return "a whole number"
	}
	return fmt.Sprintf("a %T", v)
}
