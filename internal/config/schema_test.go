package config

import (
	"encoding/json"
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
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	good, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(good, "../../config.yaml") {
		if err := resolved.Validate(Source{Path: file, Environ: []string{}}.read().tree); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, name := range []string{
		"unknown_key", "bad_http", "later_value", "bad_choice", "even_nodes", "too_many_nodes", "no_nodes",
		"bad_job_name", "bad_duration", "missing_function", "wrong_types", "bad_node_url", "bad_schedules", "bad_calendars",
	} {
		file := "testdata/bad/" + name + ".yaml"
		if err := resolved.Validate(Source{Path: file, Environ: []string{}}.read().tree); err == nil {
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
	var tree any
	if err := json.Unmarshal(schema, &tree); err != nil {
		t.Fatal(err)
	}
	keys := properties(tree)
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
func properties(tree any) map[string]bool {
	keys := map[string]bool{}
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, n := range node {
				walk(n)
			}
		case map[string]any:
			named, _ := node["properties"].(map[string]any)
			for key := range named {
				keys[key] = true
			}
			for _, n := range node {
				walk(n)
			}
		}
	}
	walk(tree)
	return keys
}
