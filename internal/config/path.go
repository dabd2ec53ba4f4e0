package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A path leads to a value of the configuration: keys, and indices of lists in
// decimal.
type path []string

// with returns the path of a member of p.
func (p path) with(steps ...string) path { return append(slices.Clip(p), steps...) }

// within reports whether p is parent, or lies in it.
func (p path) within(parent path) bool {
	return len(p) >= len(parent) && slices.Equal(p[:len(parent)], parent)
}

// String writes p for humans: jobs."nightly.report".params.to[0].
func (p path) String() string {
	var b strings.Builder
	for i, step := range p {
		number := strings.Trim(step, "0123456789") == ""
		switch {
		case number && indexes(p[:i]):
			b.WriteString("[" + step + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		if number || strings.ContainsAny(step, ". \t\n\"'[]:/") {
			step = strconv.Quote(step)
		}
		b.WriteString(step)
	}
	return b.String()
}

// indexes reports whether a number after p is an index. In params it may be a
// key too; nobody is misled there.
func indexes(p path) bool {
	t := typeAt(p)
	return t == nil || t.Kind() == reflect.Slice
}
