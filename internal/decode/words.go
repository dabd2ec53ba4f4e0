package decode

import (
	"fmt"
	"reflect"
	"time"
)

// A Kind is what a value of a tree is, or what belongs in its place.
type Kind int

// The kinds of values.
const (
	Other Kind = iota
	Nothing
	Text
	Bool
	Whole
	Number
	Duration
	Instant
	List
	Mapping
)

// Words are how a Walker puts its mistakes.
type Words struct {
	Mismatch string          // what is there and what is wanted: "is %s: want %s"
	Is, Want map[Kind]string // for Mismatch
	Quote    string          // advice where text is wanted and YAML takes it for something else
	Unknown  func(key string, known []string) string
}

// mismatch reports a value of the wrong kind without repeating it: it may be a secret in
// the wrong place.
func (w *Walker) mismatch(path []string, v any, want Kind) {
	msg := fmt.Sprintf(w.Words.Mismatch, w.Words.Describe(v), w.Words.Want[want])
	if kind := kindOf(v); want == Text && kind != List && kind != Mapping {
		msg += w.Words.Quote
	}
	w.fail(path, "%s", msg)
}

// Describe names the kind of v, never the value.
func (w Words) Describe(v any) string {
	if kind := kindOf(v); kind != Other {
		return w.Is[kind]
	}
	return fmt.Sprintf("a %T", v)
}

func kindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return Nothing
	case string:
		return Text
	case bool:
		return Bool
	case map[string]any, map[any]any:
		return Mapping
	case []any:
		return List
	case time.Time:
		return Instant
	}
	switch src := reflect.ValueOf(v); {
	case src.CanInt(), src.CanUint():
		return Whole
	case src.CanFloat():
		return Number
	}
	return Other
}
