package web

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxBody bounds the body of a request.
const maxBody = 64 << 10

// maxKey bounds the Idempotency-Key of a request.
const maxKey = 200

// A call is one request of a route, taken apart.
type call struct {
	*Server
	route route
	r     *http.Request
	id    Identity
	query url.Values
	body  any // a pointer to what route.body is
}

// A param is one that a route takes in its query.
type param struct {
	name, about string
	schema      *jsonschema.Schema
	list        bool // several, by commas or by repeating it
}

// parse checks query and body against what the route takes.
func (c *call) parse() *problem {
	var err error
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return badRequest("the query cannot be read: " + err.Error())
	}
	for name, values := range c.query {
		i := slices.IndexFunc(c.route.query, func(p param) bool { return p.name == name })
		if i < 0 {
			return badRequest(fmt.Sprintf("there is no parameter %q here; %s", name, c.route.known()))
		}
		if wrong := c.route.query[i].check(values); wrong != "" {
			return badRequest(name + ": " + wrong)
		}
	}
	if len(c.r.Header.Get("Idempotency-Key")) > maxKey {
		return badRequest(fmt.Sprintf("Idempotency-Key: write at most %d characters", maxKey))
	}
	if c.route.body == nil {
		return nil
	}
	return c.parseBody()
}

// known names the parameters of a route.
func (rt route) known() string {
	var names []string
	for _, p := range rt.query {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return "there are none"
	}
	return "known are " + strings.Join(names, ", ")
}

// check says what is wrong with the values of a parameter, "" if nothing is.
func (p param) check(values []string) string {
	if !p.list && len(values) > 1 {
		return "write it once"
	}
	for _, v := range p.split(values) {
		if wrong := p.checkOne(v); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (p param) split(values []string) []string {
	if !p.list {
		return values
	}
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
	n, _ := strconv.Atoi(text) // it was checked
	return n
}

func (c *call) time(name string) time.Time {
	at, _ := time.Parse(time.RFC3339, c.text(name)) // it was checked
	return at
}

// words returns the values of a parameter that is a list.
func words[T ~string](c *call, name string) []T {
	var all []T
	for _, v := range (param{list: true}).split(c.query[name]) {
		all = append(all, T(v))
	}
	return all
}

// parseBody decodes the body, a JSON object as its schema has it.
func (c *call) parseBody() *problem {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return newProblem(http.StatusUnsupportedMediaType, "media_type", "send Content-Type: application/json")
	}
	text, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	switch {
	case err != nil:
		return badRequest("the body cannot be read")
	case len(text) > maxBody:
		return newProblem(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body may have %d bytes", maxBody))
	}
	var wrong *problem
	c.body, wrong = decodeBody(text, c.route.bodySchema, c.route.body)
	return wrong
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	_ = enc.Encode(v) // who asked may have gone
}
