package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

type section struct {
	Name, About, Example string
	Keys                 []key
}

type key struct{ Path, Type, Default, About string }

// Configuration returns the page of config.yaml. The examples are the sections of a sample,
// also those that are comments there.
func Configuration(schema *jsonschema.Schema, sample string) (string, error) {
	var all []section
	for _, name := range schema.PropertyOrder {
		s := schema.Properties[name]
		one := section{Name: name, About: s.Description, Example: example(sample, name)}
		policies := map[string]*jsonschema.Schema{}
		if name == "jobs" {
			policies = schema.Properties["defaults"].Properties
		}
		one.Keys = below(name, s, policies)
		if len(one.Keys) == 0 {
			one.Keys, one.About = []key{keyOf(name, s, false)}, ""
		}
		all = append(all, one)
	}
	return write("config.md", all)
}

// below lists the keys below a schema, without those that have a page of their own.
func below(path string, s *jsonschema.Schema, without map[string]*jsonschema.Schema) (all []key) {
	if s.Items != nil {
		path, s = path+"[]", s.Items
	}
	for _, one := range s.AnyOf {
		all = append(all, below(path, one, without)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Properties != nil {
		path, s = path+".NAME", s.AdditionalProperties
	}
	for _, name := range order(s) {
		if _, skip := without[name]; !skip {
			p := s.Properties[name]
			all = append(append(all, keyOf(path+"."+name, p, slices.Contains(s.Required, name))), below(path+"."+name, p, nil)...)
		}
	}
	return all
}

// order is that of the struct, where there is one.
func order(s *jsonschema.Schema) []string {
	if s.PropertyOrder != nil {
		return s.PropertyOrder
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// told is a default in words, as descriptions have it.
var told = regexp.MustCompile(`; default: (.+?)\.( |$)`)

func keyOf(path string, s *jsonschema.Schema, required bool) key {
	k := key{Path: path, Type: typeOf(s), About: cell(told.ReplaceAllString(s.Description, ".$2"))}
	var value any
	zero := map[string]string{"duration": "0s", "integer": "0", "boolean": "false"}[k.Type]
	switch m := told.FindStringSubmatch(s.Description); {
	case required:
		k.Default = "required"
	case m != nil:
		k.Default = text(m[1])
	case s.Default != nil && json.Unmarshal(s.Default, &value) == nil:
		k.Default = fmt.Sprintf("`%v`", value)
	case zero != "":
		k.Default = "`" + zero + "`"
	}
	if len(s.Examples) > 0 {
		k.About += " Such as " + list(s.Examples) + "."
	}
	for _, v := range s.Enum { // what a value does is written behind it
		k.About = strings.ReplaceAll(" "+k.About, fmt.Sprintf(" %v: ", v), fmt.Sprintf(" `%v`: ", v))[1:]
	}
	return k
}

// typeOf names the type of a value.
func typeOf(s *jsonschema.Schema) string {
	name := s.Type
	for _, t := range s.Types {
		if t != "null" {
			name = t
		}
	}
	switch {
	case s.Title != "":
		return s.Title
	case s.Format == "date-time":
		return "RFC 3339 time"
	case len(s.Enum) > 12:
		return "a code"
	case len(s.Enum) > 0:
		return list(s.Enum)
	case s.Items != nil:
		return "list: " + typeOf(s.Items)
	case name == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Properties == nil && s.AdditionalProperties.Type != "":
		return "mapping: " + typeOf(s.AdditionalProperties)
	case name == "object":
		return "mapping"
	}
	return cmp.Or(name, "any")
}

// list joins values, without null.
func list(values []any) string {
	var all []string
	for _, v := range values {
		if v != nil {
			all = append(all, fmt.Sprintf("`%v`", v))
		}
	}
	return strings.Join(all, ", ")
}

// example is the section of the sample with this name, without comments.
func example(sample, name string) string {
	var lines []string
	for line := range strings.Lines(sample) {
		line = strings.TrimPrefix(line, "# ")
		if len(lines) == 0 && !strings.HasPrefix(line, name+":") || len(lines) > 0 && strings.HasPrefix(line, "#") {
			continue
		}
		if len(lines) > 0 && !strings.HasPrefix(line, " ") && line != "\n" {
			break
		}
		if uncommented, is := strings.CutPrefix(strings.TrimLeft(line, " "), "# "); is {
			line = line[:len(line)-len(uncommented)-2] + uncommented
		}
		line = remark.ReplaceAllString(line, "$1")
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// remark is a comment behind a value.
var remark = regexp.MustCompile(`(\S) +# .*`)
