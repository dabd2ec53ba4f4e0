package replica

import (
	"encoding/json"
	"path/filepath"
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
		"unknown_key", "later_key", "later_value", "bad_choice", "even_nodes", "too_many_nodes", "no_nodes",
		"bad_job_name", "bad_duration", "missing_function", "wrong_types", "bad_node_url", "bad_schedules", "bad_calendars",
	} {
		file := "testdata/bad/" + name + ".yaml"
		if err := resolved.Validate(Source{Path: file, Environ: []string{}}.read().tree); err == nil {
			t.Errorf("%s: the schema finds nothing wrong", file)
		}
	}
}
