package cmd

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/internal/config"
)

// TestPolicies holds docs/policies.md to the schema: every key of a job that is
// a policy has a row, and every value of one with a closed list. Tests show what the rows
// say: testdata/policies.txt names them.
func TestPolicies(t *testing.T) {
	t.Parallel()
	text, rows, shown := read(t, "../docs/policies.md"), map[string][]string{}, shownBy(t)
	for _, m := range regexp.MustCompile("(?m)^\\| (`([a-z_.]+)` \\| .*) \\| .* \\|$").FindAllStringSubmatch(text, -1) {
		rows[m[2]] = append(rows[m[2]], m[0])
		if len(strings.Split(m[0], " | ")) != 3 {
			t.Errorf("policies.md: give this row a key, a value and a sentence: %s", m[0])
		}
		if shown[m[1]] == "" {
			t.Errorf("testdata/policies.txt: name the tests that show what policies.md says of %s", m[1])
		}
		delete(shown, m[1])
	}
	for row := range shown {
		t.Errorf("policies.md has no row %s", row)
	}
	for key, values := range policies(t) {
		if len(rows[key]) == 0 {
			t.Errorf("policies.md has no row on %s", key)
		}
		for _, value := range values {
			if !slices.ContainsFunc(rows[key], func(row string) bool { return names(row, value) }) {
				t.Errorf("policies.md has no row on %s with value %s", key, value)
			}
		}
	}
}

// shownBy reads testdata/policies.txt: the tests by the key and value of their row on the page.
func shownBy(t *testing.T) map[string]string {
	t.Helper()
	shown, code := map[string]string{}, sources(t)
	for line := range strings.Lines(read(t, "testdata/policies.txt")) {
		at := strings.LastIndex(line, " | ")
		row, tests := line[:at], strings.TrimSpace(line[at+3:])
		shown[row] = tests
		for name := range strings.FieldsSeq(tests) {
			if !strings.Contains(code, "func "+name+"(") {
				t.Errorf("testdata/policies.txt: there is no test %s", name)
			}
		}
	}
	return shown
}

// names reports whether the second cell of a row has the word.
func names(row, word string) bool {
	return slices.Contains(regexp.MustCompile(`\w+`).FindAllString(strings.Split(row, " | ")[1], -1), word)
}

// policies are the keys of a job that say how it is run, each with its values
// and those of the keys below it where the list is closed.
func policies(t *testing.T) map[string][]string {
	t.Helper()
	schema, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][]string{}
	for key, policy := range schema.Properties["jobs"].AdditionalProperties.Properties {
		if slices.Contains([]string{"func", "params", "description"}, key) {
			continue // what is run, not how
		}
		list[key] = []string{}
		var collect func(s *jsonschema.Schema)
		collect = func(s *jsonschema.Schema) {
			for _, value := range s.Enum {
				if value, ok := value.(string); ok {
					list[key] = append(list[key], value)
				}
			}
			for _, below := range s.Properties {
				collect(below)
			}
		}
		collect(policy)
	}
	if len(list) < 6 {
		t.Fatalf("found only the policies %v in the schema", slices.Collect(maps.Keys(list)))
	}
	return list
}
