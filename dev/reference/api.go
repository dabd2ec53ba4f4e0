package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A document is an OpenAPI document, as far as the page has it.
type document struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*jsonschema.Schema }
}

type operation struct {
	Method, Path string `json:"-"`
	Summary      string
	Role         string `json:"x-role"`
	Parameters   []struct {
		Name, In, Description string
		Required              bool
		Schema                *jsonschema.Schema
	}
	RequestBody *content
	Responses   map[string]content

	Body, Answer string `json:"-"`
	Keys         []key  `json:"-"`
	Refusals     []refusal
}

type refusal struct {
	Status int
	Text   string
}

type content struct {
	Content map[string]struct{ Schema *jsonschema.Schema }
}

type object struct {
	Name string
	Keys []key
}

// types are links to the objects that the page has, by what they hold.
type types map[string]string

// API returns the page of the API.
func API(text []byte, prefix string) (string, error) {
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", err
	}
	var data struct {
		Prefix          string
		Reads, Commands []*operation
		Refusals        []refusal
		Objects         []object
	}
	data.Prefix = prefix
	named, known := map[string]*jsonschema.Schema{}, types{}
	for name, s := range doc.Components.Schemas {
		if row, is := strings.CutSuffix(name, "Page"); is {
			name, s = row, s.Properties["items"].Items
		}
		named[name], known[held(s)] = s, link(name)
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		data.Objects = append(data.Objects, object{name, known.keys(name, "", named[name])})
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range doc.Paths[path] {
			op.Method, op.Path = strings.ToUpper(method), strings.TrimPrefix(path, prefix)
			known.describe(op)
			if op.Method == http.MethodGet {
				data.Reads = append(data.Reads, op)
			} else {
				data.Commands = append(data.Commands, op)
			}
		}
	}
	data.Refusals = common(append(slices.Clone(data.Reads), data.Commands...))
	return write("api.md", data)
}

// held is what makes two schemas the same object.
func held(s *jsonschema.Schema) string {
	text, _ := json.Marshal(jsonschema.Schema{Properties: s.Properties, Required: s.Required})
	return string(text)
}

// describe fills what the page says of an operation.
func (t types) describe(op *operation) {
	for _, p := range op.Parameters {
		p.Schema.Description = p.Description
		if p.In != "query" {
			p.Schema.Description = strings.TrimSpace(fmt.Sprintf("In the %s. %s", p.In, p.Description))
		}
		k := keyOf(p.Name, p.Schema, p.Required)
		op.Keys = append(op.Keys, k)
	}
	if op.RequestBody != nil {
		op.Body = linked(op.RequestBody.Content["application/json"].Schema)
	}
	for status, response := range op.Responses {
		code, _ := strconv.Atoi(status)
		if code >= 400 {
			op.Refusals = append(op.Refusals, refusal{code, http.StatusText(code)})
		} else if stream, is := response.Content["text/event-stream"]; is && stream.Schema != nil {
			op.Answer = "`text/event-stream`"
		} else {
			op.Answer = linked(response.Content["application/json"].Schema)
		}
	}
	slices.SortFunc(op.Refusals, func(a, b refusal) int { return a.Status - b.Status })
}

// linked is a link to the object that a reference names.
func linked(s *jsonschema.Schema) string {
	name := strings.TrimPrefix(s.Ref, "#/components/schemas/")
	if row, is := strings.CutSuffix(name, "Page"); is {
		return "a page of " + link(row)
	}
	return link(name)
}

func link(name string) string { return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)) }

// common takes the refusals that most operations have away from them, and returns them.
func common(ops []*operation) []refusal {
	var all []refusal
	for _, op := range ops {
		if op.Answer != "`text/event-stream`" && (all == nil || len(op.Refusals) < len(all)) {
			all = op.Refusals
		}
	}
	for _, op := range ops {
		op.Refusals = slices.DeleteFunc(slices.Clone(op.Refusals), func(r refusal) bool { return slices.Contains(all, r) })
	}
	return all
}

// keys lists the fields of a named object, and those of objects in it that have no name.
func (t types) keys(name, path string, s *jsonschema.Schema) (all []key) {
	fields := slices.Clone(s.Required) // in the order of the struct
	for _, field := range order(s) {
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	for _, field := range fields {
		p, at := s.Properties[field], path+field
		k := keyOf(at, p, slices.Contains(s.Required, field))
		if told.MatchString(p.Description) {
			k.About += " Default: " + k.Default + "."
		}
		one, kind := p, "%s"
		if p.Items != nil {
			one, kind, at = p.Items, "list: %s", at+"[]"
		}
		known, is := t[held(one)]
		if one.Properties == nil {
			kind, known = "%s", typeOf(p)
		} else if !is {
			known = typeOf(one)
			t[held(one)] = fmt.Sprintf("like `%s` of %s", at, link(name))
		}
		if k.Type = fmt.Sprintf(kind, known); slices.Contains(p.Types, "null") {
			k.Type += ", or null"
		}
		all = append(all, k)
		if one.Properties != nil && !is {
			all = append(all, t.keys(name, at+".", one)...)
		}
	}
	return all
}
