package decode

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// An Unmarshaler decodes itself from any value of a tree but nil.
type Unmarshaler interface{ UnmarshalParam(value any) error }

// IsText tells whether values of type t, or of what it points to, are parsed from strings.
func IsText(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch reflect.New(t).Interface().(type) {
	case *time.Duration, Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// parsed decodes types that know their own text. It returns false for others.
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
	case Unmarshaler:
		w.check(p.UnmarshalParam(v), v, path)
	case encoding.TextUnmarshaler:
		w.parse(v, path, Text, func(text string) error { return p.UnmarshalText([]byte(text)) })
	default:
		return false
	}
	return true
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
