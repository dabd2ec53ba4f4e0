package decode

import (
	"reflect"
	"strconv"
)

// scalar puts a string, a boolean or a number into dst, if it fits.
func (w *Walker) scalar(dst reflect.Value, v any, path []string) {
	switch {
	case dst.Kind() == reflect.String:
		if text, ok := v.(string); ok {
			dst.SetString(text)
			return
		}
		w.mismatch(path, v, Text)
	case dst.Kind() == reflect.Bool:
		if src := reflect.ValueOf(v); src.Kind() == reflect.Bool {
			dst.SetBool(src.Bool())
			return
		}
		w.mismatch(path, v, Bool)
	case dst.CanInt(), dst.CanUint():
		w.whole(dst, v, path)
	case dst.CanFloat():
		w.float(dst, v, path)
	default:
		w.fail(path, "cannot be set: its field has the type %s", dst.Type())
	}
}

func (w *Walker) whole(dst reflect.Value, v any, path []string) {
	var text string
	src := reflect.ValueOf(v)
	switch {
	case src.CanInt():
		text = strconv.FormatInt(src.Int(), 10)
	case src.CanUint():
		text = strconv.FormatUint(src.Uint(), 10)
	default:
		w.mismatch(path, v, Whole)
		return
	}
	bits := dst.Type().Bits()
	if dst.CanUint() {
		if n, err := strconv.ParseUint(text, 10, bits); err == nil {
			dst.SetUint(n)
		} else {
			w.fail(path, "%s is out of range: want 0 to %d", text, ^uint64(0)>>(64-bits))
		}
		return
	}
	if n, err := strconv.ParseInt(text, 10, bits); err == nil {
		dst.SetInt(n)
	} else {
		w.fail(path, "%s is out of range: want %d to %d", text, int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
	}
}

func (w *Walker) float(dst reflect.Value, v any, path []string) {
	src := reflect.ValueOf(v)
	if !src.CanFloat() && !src.CanInt() && !src.CanUint() {
		w.mismatch(path, v, Number)
		return
	}
	f := src.Convert(reflect.TypeFor[float64]()).Float()
	if dst.OverflowFloat(f) {
		w.fail(path, "%v is out of range for a %s", f, dst.Kind())
		return
	}
	dst.SetFloat(f)
}
