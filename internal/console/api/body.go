package api

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

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
)

// decodeBody checks a body against the schema and decodes it to the type of like.
func decodeBody(text []byte, schema *jsonschema.Schema, like any) (any, *problem.Problem) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, problem.BadRequest("the body is not JSON: " + err.Error())
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, problem.BadRequest("the body is " + kindOf(value) + "; send an object")
	}
	if wrong := wrongFields(fields, schema); wrong != "" {
		return nil, problem.BadRequest(wrong)
	}
	body := reflect.New(reflect.TypeOf(like))
	if err := json.Unmarshal(text, body.Interface()); err != nil {
		return nil, problem.New(http.StatusInternalServerError, "internal", "the body fits the schema but cannot be decoded: "+err.Error())
	}
	return body.Interface(), nil
}

// wrongFields describes the first invalid field, "" if all are valid.
func wrongFields(fields map[string]any, s *jsonschema.Schema) string {
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p, ok := s.Properties[name]
		if !ok {
			return name + ": unknown field; known are " + strings.Join(known, ", ")
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

// wrongValue describes an invalid value, "" if it is valid. It supports the parts of JSON
// schema that this API's bodies use.
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
		return fmt.Sprintf("has %s; write at least %d", view.Count(n, "character", "characters"), *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("has %d characters; at most %d are allowed", n, *s.MaxLength)
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text), s.Format == "date-time" && !isTime(text):
		wrong := fmt.Sprintf("%q has the wrong form", text)
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

// kindNames are the JSON types in words.
var kindNames = map[string]string{
	"null": "null", "boolean": "true or false", "number": "a number", "integer": "a whole number",
	"string": "a text", "array": "a list", "object": "an object",
}

func kindOf(v any) string { return kindNames[typeOf(v)] }

// typeOf is the JSON type of a decoded value.
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
