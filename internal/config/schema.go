package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/replica/settings"
)

// Schema returns the JSON schema (draft 2020-12) of config.yaml, generated
// from Config and Default. Editors that speak YAML use it, and docs/reference/config.md is
// made from it.
func Schema() (*jsonschema.Schema, error) {
	node, err := jsonschema.For[settings.Node](nil)
	if err != nil {
		return nil, fmt.Errorf("generating the schema of a node: %w", err)
	}
	schema, err := jsonschema.For[Config](&jsonschema.ForOptions{TypeSchemas: typeSchemas(node)})
	if err != nil {
		return nil, fmt.Errorf("generating the schema: %w", err)
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "Quorate configuration"
	refine(schema, reflect.ValueOf(Default()).Elem())
	for _, section := range []string{"jobs", "calendars", "groups"} {
		schema.Properties[section].PropertyNames = &jsonschema.Schema{Pattern: jobName.String()}
	}
	for _, s := range Default().stores() {
		schema.OneOf = append(schema.OneOf, &jsonschema.Schema{Required: []string{s.section}})
	}
	redis := schema.Properties["redis"]
	for _, one := range []string{"nodes", "url", "sentinel", "cluster"} {
		redis.OneOf = append(redis.OneOf, &jsonschema.Schema{Required: []string{one}})
	}
	nodes := redis.Properties["nodes"]
	for _, n := range []int{1, 3, 5, 7} {
		nodes.AnyOf = append(nodes.AnyOf, &jsonschema.Schema{MinItems: &n, MaxItems: &n})
	}
	return schema, nil
}

// referencePattern is a text that may be anything once it is resolved.
const referencePattern = `\$\{(env|file):[^}]+\}`

// typeSchemas describes the types that are not what they look like in Go: a node is also written
// as its URL alone. A title names the type for people.
func typeSchemas(node *jsonschema.Schema) map[reflect.Type]*jsonschema.Schema {
	node.Properties["url"].Pattern = "^(redis|valkey)s?://|" + referencePattern
	url := *node.Properties["url"]
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): {
			Title: "duration", Type: "string", Pattern: `^\s*(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)\s*$|` + referencePattern,
		},
		reflect.TypeFor[bool]():           {Title: "boolean", AnyOf: []*jsonschema.Schema{{Type: "boolean"}, {Type: "string", Pattern: referencePattern}}},
		reflect.TypeFor[int]():            {Title: "integer", AnyOf: []*jsonschema.Schema{{Type: "integer"}, {Type: "string", Pattern: referencePattern}, {Type: "null"}}},
		reflect.TypeFor[settings.Node]():  {Title: "URL, or URL and name", AnyOf: []*jsonschema.Schema{&url, node}},
		reflect.TypeFor[time.Time]():      {Title: "RFC 3339 time", Type: "string", Pattern: `^$|^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]|` + referencePattern},
		reflect.TypeFor[Specs]():          {Title: "schedule, or list of schedules", AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: new(1)}}},
		reflect.TypeFor[map[string]any](): {Title: "mapping", Type: "object"},
	}
}

// refine adds to the schema of a struct what the library does not know:
// defaults, choices, and that a key may be left without a value.
func refine(schema *jsonschema.Schema, value reflect.Value) {
	for _, f := range decode.Fields(value.Type()) {
		s, v := schema.Properties[f.Name], value.FieldByIndex(f.Index)
		if v.Kind() == reflect.Pointer {
			v = reflect.Indirect(v)
			for _, name := range s.Types { // null is added again below
				if name != "null" {
					s.Type = name
				}
			}
			s.Types = nil
		}
		switch {
		case v.Kind() == reflect.Struct:
			refine(s, v)
		case v.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			refine(s.AdditionalProperties, reflect.New(f.Type.Elem()).Elem())
		case v.Kind() == reflect.Slice && s.AnyOf == nil:
			s.Type, s.Types = "array", nil
			refineItems(s.Items, f)
		}
		if choices := choicesOf(v.Type(), f.Tag); choices != nil {
			s.Enum = enum(choices)
		}
		if !v.IsZero() && v.Kind() != reflect.Struct {
			s.Default = defaultOf(v)
		}
		if s.Type != "" && !slices.Contains(schema.Required, f.Name) {
			s.Types, s.Type = []string{s.Type, "null"}, ""
		}
	}
}

// refineItems is refine for the elements of a list.
func refineItems(schema *jsonschema.Schema, f decode.Field) {
	t := f.Type.Elem()
	if choices := choicesOf(t, f.Tag); choices != nil {
		schema.Enum = enum(choices)[:len(choices)] // null is no element
	}
	if t == reflect.TypeFor[settings.Webhook]() {
		refine(schema, reflect.Zero(t))
	}
}

func enum(values []string) []any {
	list := make([]any, 0, len(values)+1)
	for _, v := range values {
		list = append(list, v)
	}
	return append(list, nil) // `key:` without a value means the default
}

func defaultOf(v reflect.Value) json.RawMessage {
	value := v.Interface()
	switch v := value.(type) {
	case time.Duration:
		value = short(v)
	case fmt.Stringer:
		value = v.String()
	}
	text, _ := json.Marshal(value) // a default always encodes
	return text
}

// short writes a duration as people do: 1h, not 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
