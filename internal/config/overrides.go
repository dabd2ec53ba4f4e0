package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"
)

// envPrefix starts the variables that override the file. Every other QUORATE_*
// is left alone: Kubernetes injects QUORATE_SERVICE_HOST and the like.
const envPrefix = "QUORATE__"

// A setting is one override on its way into the layers.
type setting struct {
	path  path
	label string
	value any
}

// tree returns the setting as a tree of its own. It is built by hand because
// splitting a joined path would take keys with a delimiter in them apart.
func (s setting) tree() map[string]any {
	value := s.value
	for _, step := range slices.Backward(s.path) {
		value = map[string]any{step: value}
	}
	return value.(map[string]any)
}

// fromFlags reads --set arguments.
func fromFlags(ps *problems, args []string) []setting {
	var sets []setting
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		label := "--set " + name
		p, err := flagPath(name)
		if !ok || slices.Contains(p, "") {
			err = errors.New("not of the form path=value; write it like jobs/report/timeout=5m")
		}
		if err != nil {
			ps.add(position{file: label}, nil, err.Error())
			continue
		}
		sets = append(sets, setting{p, label, readValue(ps, p, label, text)})
	}
	return sets
}

// flagPath finds the path that the name of a --set stands for. Dots separate
// its steps, too, where there is no slash and no step is a name of the user's.
func flagPath(name string) (path, error) {
	if strings.Contains(name, delimiter) {
		return strings.Split(name, delimiter), nil
	}
	p := path(strings.Split(name, "."))
	for i := range p {
		if t := typeAt(p[:i]); t != nil && t.Kind() == reflect.Map {
			return nil, fmt.Errorf("names in %s may contain dots; separate the steps with slashes, as in jobs/nightly.report/timeout=5m", p[:i])
		}
	}
	return p, nil
}

// fromEnviron reads the overrides in environ, in the order of their names.
func fromEnviron(ps *problems, environ []string, file *koanf.Koanf) []setting {
	var sets []setting
	tree := file.Raw()
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, text, ok := strings.Cut(variable, "=")
		if !ok || !strings.HasPrefix(name, envPrefix) {
			continue
		}
		label := "environment variable " + name
		p, err := envPath(strings.Split(name[len(envPrefix):], "__"), tree)
		if err != nil {
			ps.add(position{file: label}, nil, err.Error())
			continue
		}
		sets = append(sets, setting{p, label, readValue(ps, p, label, text)})
	}
	return sets
}

// getenv returns the last value of a variable in environ.
func getenv(environ []string, name string) string {
	for _, variable := range slices.Backward(environ) {
		if n, value, ok := strings.Cut(variable, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// envPath finds the path that the steps of a variable's name stand for.
// Fields are matched by their names, keys of maps by those in tree.
func envPath(steps []string, tree map[string]any) (path, error) {
	var p path
	t := reflect.TypeFor[Config]()
	var node any = tree
	for _, step := range steps {
		if step == "" {
			return nil, fmt.Errorf("the name has an empty step; write it like %sLOCK__TTL", envPrefix)
		}
		key, err := envKey(p, step, t, node)
		if err != nil {
			return nil, err
		}
		p = p.with(key)
		t = memberType(t, key)
		m, _ := node.(map[string]any)
		node = m[key]
	}
	return p, nil
}

// envKey finds the key that one step stands for.
func envKey(p path, step string, t reflect.Type, node any) (string, error) {
	if t != nil && t.Kind() == reflect.Slice {
		return "", fmt.Errorf("%s is a list; set it as a whole, in YAML: [a, b]", p)
	}
	if t == nil || t.Kind() != reflect.Map {
		return strings.ToLower(step), nil
	}
	m, _ := node.(map[string]any)
	var found []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if envName(key) == strings.ToUpper(step) {
			found = append(found, key)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%s means any of %s in %s; use --set instead", step, strings.Join(found, ", "), p)
	case t.Elem() == reflect.TypeFor[JobConfig]():
		return "", fmt.Errorf("no job is called %s; a variable can change the jobs of the file (%s), not add one; use --set instead",
			strings.ToLower(step), strings.Join(slices.Sorted(maps.Keys(m)), ", "))
	}
	return strings.ToLower(step), nil
}

// envName is how a key of a map is written in the name of a variable.
func envName(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(key))
}

// readValue reads the text of an override for p: YAML, except that text meant
// for a string stays as it is unless all of it is a quoted YAML string.
// A password is then never taken for a number, a comment or a mapping.
func readValue(ps *problems, p path, label, text string) any {
	var node yaml.Node
	err := yaml.Unmarshal([]byte(text), &node)
	if t := typeAt(p); isText(t) || t == reflect.TypeFor[Specs]() && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err == nil && len(node.Content) == 1 && quoted(node.Content[0]) {
			return node.Content[0].Value
		}
		return text
	}
	var value any
	if err == nil {
		err = node.Decode(&value)
	}
	if err != nil {
		ps.add(position{file: label}, p, "the value is not valid YAML; quote text, write lists as [a, b] and mappings as {a: b}")
		return nil
	}
	return value
}

func quoted(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
}
