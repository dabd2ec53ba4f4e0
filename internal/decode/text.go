package decode

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Unmarshaler decodes itself from any value of a tree but nil.
type Unmarshaler interface{ UnmarshalParam(value any) error }

// IsText tells whether values of type t, or of what it points to, are parsed from strings, or
// decode themselves.
func IsText(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch reflect.New(t).Interface().(type) {
	case *time.Duration, *json.Number, Unmarshaler, json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return isBytes(t)
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// parsed decodes types that know their own text, in the order in which encoding/json asks
// them. It returns false for others.
func (w *Walker) parsed(dst reflect.Value, v any, path []string) bool {
	switch p := dst.Addr().Interface().(type) {
	case *time.Duration:
		w.parse(v, path, Duration, func(text string) error { return parseDuration(p, text) })
	case *time.Time:
		if t, ok := v.(time.Time); ok {
			*p = t
			return true
		}
		w.parse(v, path, Instant, func(text string) error { return parseInstant(p, text) })
	case *json.Number:
		w.number(p, v, path)
	case Unmarshaler:
		w.check(p.UnmarshalParam(v), v, path)
	case json.Unmarshaler:
		text, err := asJSON(v)
		if err == nil {
			err = p.UnmarshalJSON(text)
		}
		w.check(err, v, path)
	case encoding.TextUnmarshaler:
		w.parse(v, path, Text, func(text string) error { return p.UnmarshalText([]byte(text)) })
	default:
		text, isText := v.(string)
		if !isText || !isBytes(dst.Type()) {
			return false
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			err = errors.New("is not base64, as bytes are written: write it so, or a list of numbers")
		}
		dst.SetBytes(b)
		w.check(err, v, path)
	}
	return true
}

// number decodes a number that keeps its digits.
func (w *Walker) number(dst *json.Number, v any, path []string) {
	text, isText := v.(string)
	if !isText {
		if kind := kindOf(v); kind == Whole || kind == Number {
			text = fmt.Sprint(v)
		}
	}
	if err := json.Unmarshal([]byte(text), dst); err != nil || text == "null" {
		w.mismatch(path, v, Number)
	}
}

// asJSON writes v as JSON.
func asJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// key returns text as a key of a map.
func key(t reflect.Type, text string) (reflect.Value, error) {
	k := reflect.New(t)
	dst := k.Elem()
	var err error
	p, parses := reflect.TypeAssert[encoding.TextUnmarshaler](k)
	switch {
	case parses:
		err = p.UnmarshalText([]byte(text))
	case t == reflect.TypeFor[time.Duration]():
		err = parseDuration(k.Interface().(*time.Duration), text)
	case dst.Kind() == reflect.String:
		dst.SetString(text)
	case !setWhole(dst, text):
		err = fmt.Errorf("is no whole number of the type %s", t.Kind())
	}
	return dst, err
}

// isKey tells whether keys of maps may have type t.
func isKey(t reflect.Type) bool {
	k := reflect.New(t)
	_, parses := reflect.TypeAssert[encoding.TextUnmarshaler](k)
	return parses || t.Kind() == reflect.String || k.Elem().CanInt() || k.Elem().CanUint()
}

// parse hands v over if it is a string.
func (w *Walker) parse(v any, path []string, want Kind, parse func(text string) error) {
	if text, ok := v.(string); ok {
		w.check(parse(text), v, path)
	} else {
		w.mismatch(path, v, want)
	}
}

// check reports why v cannot be parsed, without the words of err if they may quote a secret.
func (w *Walker) check(err error, v any, path []string) {
	switch {
	case err == nil:
	case w.Secret:
		w.fail(path, "%s cannot be parsed (its text is not shown, it may be secret)", w.Words.Describe(v))
	default:
		w.fail(path, "%v", err)
	}
}

func parseDuration(p *time.Duration, text string) error {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write a number with its unit, such as 500ms, 15s or 1h30m", text)
	}
	*p = d
	return nil
}

func parseInstant(p *time.Time, text string) error {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("%q is not an instant; write date, time and offset from UTC (RFC 3339), such as 2027-01-01T00:00:00Z or 2027-01-01T00:00:00+01:00", text)
	}
	*p = t
	return nil
}

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
	if kindOf(v) != Whole {
		w.mismatch(path, v, Whole)
		return
	}
	text, bits := fmt.Sprintf("%d", v), dst.Type().Bits()
	switch {
	case setWhole(dst, text):
	case dst.CanUint():
		w.fail(path, "%s is out of range: want 0 to %d", text, ^uint64(0)>>(64-bits))
	default:
		w.fail(path, "%s is out of range: want %d to %d", text, int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
	}
}

// setWhole sets an integer, if the text is one that fits.
func setWhole(dst reflect.Value, text string) bool {
	if dst.CanUint() {
		n, err := strconv.ParseUint(text, 10, dst.Type().Bits())
		if err == nil {
			dst.SetUint(n)
		}
		return err == nil
	}
	n, err := strconv.ParseInt(text, 10, dst.Type().Bits())
	if err == nil {
		dst.SetInt(n)
	}
	return err == nil
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

// Nearest returns the known word that somebody who misspelt it as word most
// likely meant: the one with the same letters in another order, else the one
// that takes the fewest edits, if those are few; "" if none is near.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		d := edits(word, strings.ToLower(k))
		if sameLetters(word, strings.ToLower(k)) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// sameLetters reports whether a and b differ only in the order of their letters.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// edits counts the bytes to insert, delete or replace to turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
