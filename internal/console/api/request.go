package api

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/identity"
)

// MaxBody bounds the body of a request.
const MaxBody = 64 << 10

// maxKey bounds the Idempotency-Key of a request.
const maxKey = 200

// A call is one parsed request.
type call struct {
	*API
	route route
	r     *http.Request
	id    identity.Identity
	query url.Values
	body  any // a pointer to the type of route.body
}

// A param is a query parameter of a route.
type param struct {
	name, about string
	schema      *jsonschema.Schema
	list        bool // several values, separated by commas or repeated
}

// parse checks query and body against the route.
func (c *call) parse() *problem.Problem {
	var err error
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return problem.BadRequest("the query cannot be read: " + err.Error())
	}
	for name, values := range c.query {
		i := slices.IndexFunc(c.route.query, func(p param) bool { return p.name == name })
		if i < 0 {
			return problem.BadRequest(fmt.Sprintf("unknown parameter %q; %s", name, c.route.knownParams()))
		}
		if wrong := c.route.query[i].check(values); wrong != "" {
			return problem.BadRequest(name + ": " + wrong)
		}
	}
	if len(c.r.Header.Get("Idempotency-Key")) > maxKey {
		return problem.BadRequest(fmt.Sprintf("Idempotency-Key: write at most %d characters", maxKey))
	}
	if c.route.body == nil {
		return nil
	}
	return c.parseBody()
}

// knownParams lists the parameters of a route.
func (rt route) knownParams() string {
	var names []string
	for _, p := range rt.query {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return "there are none"
	}
	return "known are " + strings.Join(names, ", ")
}

// check describes an invalid value, "" if all are valid.
func (p param) check(values []string) string {
	switch {
	case p.list:
		values = elements(values)
	case len(values) > 1:
		return "write it once"
	}
	for _, v := range values {
		if wrong := p.checkOne(v); wrong != "" {
			return wrong
		}
	}
	return ""
}

// elements are those of lists with commas.
func elements(values []string) []string {
	var all []string
	for _, v := range values {
		all = append(all, strings.Split(v, ",")...)
	}
	return all
}

func (p param) checkOne(v string) string {
	s := p.schema
	if s.Items != nil {
		s = s.Items
	}
	switch {
	case s.Type == "integer":
		n, err := strconv.Atoi(v)
		if err != nil || float64(n) < *s.Minimum || float64(n) > *s.Maximum {
			return fmt.Sprintf("%q: write a number from %.0f to %.0f", v, *s.Minimum, *s.Maximum)
		}
	case s.Format == "date-time":
		if !isTime(v) {
			return fmt.Sprintf("%q: write a time such as 2027-01-01T00:00:00Z", v)
		}
	case len(s.Enum) > 0:
		if !slices.Contains(s.Enum, any(v)) {
			return fmt.Sprintf("%q: write some of %v", v, s.Enum)
		}
	case s.MaxLength != nil && len(v) > *s.MaxLength:
		return fmt.Sprintf("write at most %d characters", *s.MaxLength)
	}
	return ""
}

func (c *call) text(name string) string { return c.query.Get(name) }

// number is the value of a parameter, or its default.
func (c *call) number(name string) int {
	i := slices.IndexFunc(c.route.query, func(p param) bool { return p.name == name })
	text := c.text(name)
	if text == "" {
		text = string(c.route.query[i].schema.Default)
	}
	n, _ := strconv.Atoi(text) // parse has checked it
	return n
}

func (c *call) time(name string) time.Time {
	at, _ := time.Parse(time.RFC3339, c.text(name)) // parse has checked it
	return at
}

// valuesOf returns the values of a list parameter.
func valuesOf[T ~string](c *call, name string) []T {
	var all []T
	for _, v := range elements(c.query[name]) {
		all = append(all, T(v))
	}
	return all
}

// parseBody checks the body against the schema of the route, and decodes it.
func (c *call) parseBody() *problem.Problem {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problem.New(http.StatusUnsupportedMediaType, "media_type", "send Content-Type: application/json")
	}
	text, err := io.ReadAll(io.LimitReader(c.r.Body, MaxBody+1))
	switch {
	case err != nil:
		return problem.BadRequest("the body cannot be read")
	case len(text) > MaxBody:
		return problem.New(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body may have %d bytes", MaxBody))
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return problem.BadRequest("the body is not JSON: " + err.Error())
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return problem.BadRequest("the body is " + kindOf(value) + "; send an object")
	}
	if wrong := wrongFields(fields, c.route.bodySchema); wrong != "" {
		return problem.BadRequest(wrong)
	}
	body := reflect.New(reflect.TypeOf(c.route.body)).Interface()
	if err := json.Unmarshal(text, body); err != nil {
		return problem.New(http.StatusInternalServerError, "internal", "the body fits the schema but cannot be decoded: "+err.Error())
	}
	c.body = body
	return nil
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
