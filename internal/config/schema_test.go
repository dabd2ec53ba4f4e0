package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// The schema and the decoder must agree: on what good files hold, and on the
// mistakes that a schema can see.
func TestSchemaAgreesWithDecoding(t *testing.T) {
	t.Parallel()
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	written := func(file string) map[string]any {
		tree, _ := Source{Path: file, Environ: []string{}}.read()
		return tree
	}
	good, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(good, "../../config.yaml") {
		if err := resolved.Validate(written(file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, name := range []string{
		"unknown_key", "bad_http", "later_value", "bad_choice", "even_nodes", "too_many_nodes", "no_nodes",
		"bad_job_name", "bad_duration", "missing_function", "wrong_types", "bad_node_url", "bad_schedules", "bad_calendars",
	} {
		file := "testdata/bad/" + name + ".yaml"
		if err := resolved.Validate(written(file)); err == nil {
			t.Errorf("%s: the schema finds nothing wrong", file)
		}
	}
}

// The shipped config.yaml is where users look for a key first.
func TestShippedConfigurationNamesEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	keys := properties(schema)
	if len(keys) < 60 {
		t.Fatalf("the schema has only %d keys", len(keys))
	}
	for key := range keys {
		if !regexp.MustCompile(`\b` + key + `:`).Match(text) {
			t.Errorf("config.yaml does not name %s", key)
		}
	}
}

// properties collects the names of all properties of a schema.
func properties(schema *jsonschema.Schema) map[string]bool {
	keys := map[string]bool{}
	var walk func(*jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		for key, p := range s.Properties {
			keys[key] = true
			walk(p)
		}
		walk(s.AdditionalProperties)
		walk(s.Items)
		for _, one := range s.AnyOf {
			walk(one)
		}
	}
	walk(schema)
	return keys
}
