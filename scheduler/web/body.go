package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/scheduler/listing"
)

// decodeBody returns a body of the type of like, checked against its schema.
func decodeBody(text []byte, schema *jsonschema.Schema, like any) (any, *problem) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, badRequest("the body is no JSON: " + err.Error())
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, badRequest("the body is " + kindOf(value) + "; send an object")
	}
	if wrong := wrongFields(fields, schema); wrong != "" {
		return nil, badRequest(wrong)
	}
	body := reflect.New(reflect.TypeOf(like))
	if err := json.Unmarshal(text, body.Interface()); err != nil {
		return nil, newProblem(http.StatusInternalServerError, "internal", "the body is as described, and cannot be read: "+err.Error())
	}
	return body.Interface(), nil
}

// wrongFields says what is wrong with the first field that is, "" if none is.
func wrongFields(fields map[string]any, s *jsonschema.Schema) string {
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p, ok := s.Properties[name]
		if !ok {
			return name + ": there is no such field; known are " + strings.Join(known, ", ")
		}
		if wrong := wrongValue(fields[name], p); wrong != "" {
			return name + ": " + wrong
		}
	}
	for _, name := range s.Required {
		if _, ok := fields[name]; !ok {
			return name + ": is missing"
		}
	}
	return ""
}

// wrongValue says what is wrong with the value of a field, "" if nothing is. It
// knows as much of schemas as the bodies of this API use.
func wrongValue(v any, s *jsonschema.Schema) string {
	wanted := s.Types
	if s.Type != "" {
		wanted = []string{s.Type}
	}
	number, isNumber := v.(float64)
	whole := isNumber && number == math.Trunc(number) && math.Abs(number) <= 1<<62
	if slices.Contains(wanted, "integer") && isNumber && !whole {
		return fmt.Sprintf("is %v; write a whole number", number)
	}
	if !slices.ContainsFunc(wanted, func(t string) bool { return t == typeOf(v) || t == "integer" && whole }) {
		return "is " + kindOf(v) + "; write " + kindNames[wanted[0]]
	}
	if s.Minimum != nil && isNumber && number < *s.Minimum {
		return fmt.Sprintf("is %v; write %v or more", number, *s.Minimum)
	}
	if text, ok := v.(string); ok {
		return wrongText(text, s)
	}
	return ""
}

func wrongText(text string, s *jsonschema.Schema) string {
	n := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && n < *s.MinLength && n == 0:
		return "is empty"
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Sprintf("has %s; write at least %d", listing.Count(n, "character", "characters"), *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("has %d characters; at most %d are allowed", n, *s.MaxLength)
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text), s.Format == "date-time" && !isTime(text):
		wrong := fmt.Sprintf("%q does not fit", text)
		if len(s.Examples) > 0 {
			wrong += fmt.Sprintf("; write one such as %v", s.Examples[0])
		}
		return wrong
	}
	return ""
}

func isTime(text string) bool {
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && at.Year() >= 1970
}

// kindNames are the types of JSON in words.
var kindNames = map[string]string{
	"null": "null", "boolean": "true or false", "number": "a number", "integer": "a whole number",
	"string": "a text", "array": "a list", "object": "an object",
}

func kindOf(v any) string { return kindNames[typeOf(v)] }

// typeOf is the type of JSON that a decoded value has.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
