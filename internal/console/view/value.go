package view

import "time"

// Optional returns nil for the zero value, so that JSON shows null.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Stamp formats t as listings do, RFC 3339 in UTC to the millisecond; nil for zero.
func Stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.999Z")
	return &s
}

// Time parses what Stamp returned; zero for nil.
func Time(stamp *string) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339Nano, *stamp) // Stamp wrote it
	return t
}

// Text returns the text behind p, "" for nil.
func Text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
