package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

const chart = root + "/deploy/chart"

var write = flag.Bool("write", false, "write what is generated")

// tree reads YAML.
func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return values
}

// defaults are the values of the chart.
func defaults(t *testing.T) map[string]any {
	t.Helper()
	return tree(t, read(t, chart+"/values.yaml"))
}

// merged returns values with others over them, as Helm merges them. A null removes a value,
// unless the chart has it as null.
func merged(values, over map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, values)
	for key, value := range over {
		was, isTree := out[key].(map[string]any)
		inner, isInner := value.(map[string]any)
		switch {
		case isTree && isInner:
			out[key] = merged(was, inner)
		case value == nil:
			delete(out, key)
		default:
			out[key] = value
		}
	}
	return out
}

// at returns values with one at a path.
func at(path string, value any) map[string]any {
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		value = map[string]any{key: value}
	}
	return value.(map[string]any)
}

// values are those that set an alternative.
func (a alternative) values(t *testing.T, path string) map[string]any {
	t.Helper()
	return merged(tree(t, a.with), at(path, tree(t, "value: "+a.value)["value"]))
}

// leaves are the values of a tree by path. An empty map is one, and so is a list.
func leaves(values map[string]any) map[string]any {
	found := map[string]any{}
	for key, value := range values {
		if inner, isTree := value.(map[string]any); isTree && len(inner) > 0 {
			for path, leaf := range leaves(inner) {
				found[key+"."+path] = leaf
			}
			continue
		}
		found[key] = value
	}
	return found
}

// The README has a row for each value, with its default, and the tests have an alternative.
func TestChartValuesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]any{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]*)` \\| ").FindAllStringSubmatch(read(t, chart+"/README.md"), -1) {
		documented[row[1]] = tree(t, "value: "+row[2])["value"]
	}
	want := leaves(defaults(t))
	for path, value := range want {
		if row, found := documented[path]; !found || !reflect.DeepEqual(row, value) {
			text, _ := json.Marshal(value) // it is YAML
			t.Errorf("the README lacks the row | `%s` | `%s` |", path, text)
		}
	}
	for path := range documented {
		if _, found := want[path]; !found {
			t.Errorf("values.yaml has no %s", path)
		}
	}
	if paths, tried := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(alternatives)); !slices.Equal(paths, tried) {
		t.Errorf("the chart has\n%q, and alternatives are tried of\n%q", paths, tried)
	}
}

// schema is values.schema.json.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, chart+"/values.schema.json")))
	compiler := jsonschema.NewCompiler()
	if err == nil {
		err = compiler.AddResource("values.schema.json", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("values.schema.json")
}

func TestChartSchema(t *testing.T) {
	t.Parallel()
	s, values := schema(t), defaults(t)
	if err := s.Validate(values); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	for path, a := range alternatives {
		if err := s.Validate(merged(values, a.values(t, path))); err != nil {
			t.Errorf("%s: %s is refused: %v", path, a.value, err)
		}
	}
	for _, text := range refused {
		if err := s.Validate(merged(values, tree(t, text))); err == nil {
			t.Errorf("%s is allowed", text)
		}
	}
}

// The schema of config is what `quorate schema` prints, less the descriptions and
// what the templates check.
func TestChartSchemaOfConfig(t *testing.T) {
	t.Parallel()
	var all, config map[string]any
	was := read(t, chart+"/values.schema.json")
	if err := json.Unmarshal([]byte(was), &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(quorate(t, "schema"), &config); err != nil {
		t.Fatal(err)
	}
	delete(config, "$schema")
	delete(config, "oneOf") // of the stores: the templates say it in words
	config["type"] = "object"
	all["properties"].(map[string]any)["config"] = undescribed(config)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(all); err != nil {
		t.Fatal(err)
	}
	generated(t, chart+"/values.schema.json", "make chart-schema", text.String())
}

// undescribed returns a schema without words for people.
func undescribed(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		for key, value := range s {
			if _, isText := value.(string); isText && (key == "description" || key == "title") {
				delete(s, key)
				continue
			}
			s[key] = undescribed(value)
		}
	case []any:
		for i := range s {
			s[i] = undescribed(s[i])
		}
	}
	return schema
}

// generated compares a file with what it has to hold, or writes it.
func generated(t *testing.T, path, command, want string) {
	t.Helper()
	if *write {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // it is of the repository
			t.Fatal(err)
		}
		return
	}
	if got := read(t, path); got != want {
		t.Errorf("%s is not what `%s` writes", path, command)
	}
}

// Chart, image and Compose files are those of the newest release.
func TestVersionsOfDeployments(t *testing.T) {
	t.Parallel()
	newest := regexp.MustCompile(`(?m)^## \[(\d[^\]]*)\]`).FindStringSubmatch(read(t, root+"/CHANGELOG.md"))[1]
	about := tree(t, read(t, chart+"/Chart.yaml"))
	if about["appVersion"] != newest {
		t.Errorf("Chart.yaml has appVersion %v, want %s", about["appVersion"], newest)
	}
	image := "ghcr.io/quorate/quorate:" + newest + "\n"
	for file, want := range map[string]string{
		"compose/redis/compose.yaml": image, "compose/postgres/compose.yaml": image, "kubernetes/quorate.yaml": image, "image/Dockerfile": "FROM " + image,
		"compose/mysql/compose.yaml": "image: quorate-mysql:" + newest + "\n",
	} {
		if !strings.Contains(read(t, filepath.Join(root, "deploy", file)), want) {
			t.Errorf("%s has not %s", file, want)
		}
	}
	if file := "image/Dockerfile"; !strings.Contains(read(t, filepath.Join(root, "deploy", file)), "@v"+newest+" ") {
		t.Errorf("%s does not install v%s", file, newest)
	}
}

// validate has quorate check a configuration.
func validate(t *testing.T, config string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	quorate(t, "validate", "--config", path)
}
