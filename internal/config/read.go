package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/jobs"
)

// DefaultFile is read where neither a path nor $QUORATE_CONFIG is given.
const DefaultFile = "config.yaml"

// A File is a configuration that was read, and how it is read again.
type File struct {
	Config *Config
	// Source is read again when it changes. Nil: the configuration stays as it is.
	Source *Source
	// Adapt, if set, makes the same changes to each configuration that is read again as were
	// made to Config.
	Adapt func(*Config)
}

// delimiter of paths within koanf. No step contains it; names of jobs may have dots, and labels slashes.
const delimiter = "\x00"

// A Source says where a configuration comes from. Later parts win: the file,
// then the environment, then Set. Maps are merged, lists replaced.
type Source struct {
	// Path of the file. Default: $QUORATE_CONFIG, else config.yaml.
	Path string
	// Environ is the environment in the form of os.Environ, which is the
	// default. Variables that start with QUORATE__ override the file: the rest
	// of the name is the path in upper case with __ between the steps
	// (QUORATE__LOCK__TTL=5s). A job is addressed by its name with everything
	// but letters and digits written as _; jobs that this does not tell apart,
	// and new jobs, need the file or Set.
	Environ []string
	// Set holds overrides in the form path=value with / between the steps:
	// jobs/nightly.report/timeout=5m. A path without names of jobs and the like
	// may have dots instead: http.listen=:8080. Values are read as YAML, except that text
	// may stay unquoted.
	Set []string
	// NoStore leaves out the sections of the stores: the caller uses none, or its own.
	NoStore bool
}

// withDefaults returns a copy that says where its parts are.
func (s Source) withDefaults() Source {
	if s.Environ == nil {
		s.Environ = os.Environ()
	}
	s.Path = cmp.Or(s.Path, getenv(s.Environ, "QUORATE_CONFIG"), DefaultFile)
	return s
}

// read layers the parts of a source with koanf. It reports what it cannot read, and leaves it out.
// The tree is not decoded yet; it is nil if there is nothing to decode.
func (s Source) read() (tree map[string]any, ps *problems) {
	s = s.withDefaults()
	from := &origin{file: s.Path}
	ps = &problems{origin: from}
	var err error
	if from.text, err = readFile(s.Path); err != nil {
		ps.add(position{file: s.Path}, nil, "cannot be read: "+err.Error()+"; pass --config FILE or set QUORATE_CONFIG")
		return nil, ps
	}
	written, ok := parseDocument(ps, from.text)
	if !ok {
		return nil, ps
	}
	layers := koanf.New(delimiter)
	err = layers.Load(confmap.Provider(written, ""), nil)
	from.overrides = s.overrides(ps, layers.Raw())
	for _, o := range from.overrides {
		err = errors.Join(err, layers.Set(strings.Join(o.path, delimiter), o.value))
	}
	if err != nil { // koanf has none for maps in memory
		ps.at(nil, "%v", err)
	}
	from.tree = layers.Raw()
	from.files = filesIn(from.tree)
	from.referenced = sumsOf(from.files)
	return layers.Raw(), ps
}

// decoded reads a source and decodes it. The Config is nil if there is nothing to decode.
func (s Source) decoded() (*Config, *problems) {
	tree, ps := s.read()
	if tree == nil {
		return nil, ps
	}
	if s.NoStore {
		for _, s := range Default().stores() {
			delete(tree, s.section)
		}
	}
	cfg := Default()
	fill(ps, tree, cfg)
	cfg.origin = ps.origin
	cfg.checkValues(ps, nil, reflect.ValueOf(cfg))
	return cfg, ps
}

// Read reads and checks a configuration, and nothing else: it opens no
// connection and needs no secret. The error is a *settings.Error with every
// mistake, joined with the registry's own. Without a registry (nil) names and
// params of functions are taken as they are.
func Read(source Source, registry *jobs.Registry) (*Config, error) {
	cfg, ps := source.decoded()
	if cfg == nil {
		return nil, ps.err()
	}
	if source.NoStore { // what fits every lock.ttl
		cfg.Redis.RestartGrace = max(cfg.Redis.RestartGrace, 2*cfg.Lock.TTL)
		cfg.Redis.NodeTimeout = min(cfg.Redis.NodeTimeout, (cfg.Lock.TTL / 5).Truncate(time.Millisecond))
	} else {
		cfg.checkCluster(ps)
	}
	cfg.check(ps, registry)
	if registry != nil && registry.Err() != nil {
		return nil, errors.Join(registry.Err(), ps.err())
	}
	if err := ps.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// ReadCluster reads only what says which cluster this is (namespace, the store and
// lock.ttl), and resolves its references. It reports no mistake elsewhere: a
// listing must not fail on a job that only another binary knows.
func ReadCluster(source Source) (Cluster, error) {
	cfg, ps := source.decoded()
	if cfg == nil {
		return Cluster{}, ps.err()
	}
	cfg.checkCluster(ps)
	within := []path{{"namespace"}, {"lock", "ttl"}}
	for _, s := range cfg.stores() {
		within = append(within, path{s.section})
	}
	ps.keep(within...)
	if err := ps.err(); err != nil {
		return Cluster{}, err
	}
	return cfg.Cluster()
}

// Cluster returns what the store of the configuration is opened with, as
// ReadCluster does. It expects a Config that Read returned.
func (c *Config) Cluster() (Cluster, error) {
	ps := &problems{origin: c.origin}
	cluster := c.cluster(ps)
	return cluster, ps.err()
}

// envPrefix starts the variables that override the file. Every other QUORATE_*
// is left alone: Kubernetes injects QUORATE_SERVICE_HOST and the like.
const envPrefix = "QUORATE__"

// overrides returns what the environment and Set put over the file, in the order in which they apply.
func (s Source) overrides(ps *problems, file map[string]any) (list []override) {
	add := func(label, text string, p path, err error) {
		if err != nil {
			ps.add(position{file: label}, nil, err.Error())
			return
		}
		list = append(list, override{p, label, readValue(ps, p, label, text)})
	}
	for _, variable := range slices.Sorted(slices.Values(s.Environ)) {
		name, text, ok := strings.Cut(variable, "=")
		if steps, ours := strings.CutPrefix(name, envPrefix); ok && ours {
			p, err := envPath(strings.Split(steps, "__"), file)
			add("environment variable "+name, text, p, err)
		}
	}
	for _, arg := range s.Set {
		name, text, ok := strings.Cut(arg, "=")
		p, err := flagPath(name)
		if !ok || slices.Contains(p, "") {
			err = errors.New("not of the form path=value; write it like jobs/report/timeout=5m")
		}
		add("--set "+name, text, p, err)
	}
	return list
}

// flagPath finds the path that the name of a --set means. Without a slash dots
// separate its steps, unless it leads into a mapping whose keys the user chooses.
func flagPath(name string) (path, error) {
	if strings.Contains(name, "/") {
		return strings.Split(name, "/"), nil
	}
	p := path(strings.Split(name, "."))
	for i := range p {
		if t := typeAt(p[:i]); t != nil && t.Kind() == reflect.Map {
			return nil, fmt.Errorf("names in %s may contain dots; separate the steps with slashes, as in jobs/nightly.report/timeout=5m", p[:i])
		}
	}
	return p, nil
}

// getenv returns the last value of a variable in environ.
func getenv(environ []string, name string) string {
	for _, variable := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// envPath finds the path that the steps of a variable's name mean.
// Fields are matched by their names, keys of maps by those in tree.
func envPath(steps []string, tree map[string]any) (path, error) {
	var p path
	t := reflect.TypeFor[Config]()
	for _, step := range steps {
		if step == "" {
			return nil, fmt.Errorf("the name has an empty step; write it like %sLOCK__TTL", envPrefix)
		}
		key, err := envKey(p, step, t, tree)
		if err != nil {
			return nil, err
		}
		p, t = p.with(key), memberType(t, key)
		tree, _ = tree[key].(map[string]any)
	}
	return p, nil
}

// envKey finds the key that one step means in the mapping at p.
func envKey(p path, step string, t reflect.Type, mapping map[string]any) (string, error) {
	if t != nil && t.Kind() == reflect.Slice {
		return "", fmt.Errorf("%s is a list; set it as a whole, in YAML: [a, b]", p)
	}
	if t == nil || t.Kind() != reflect.Map {
		return strings.ToLower(step), nil
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(mapping)) {
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
			strings.ToLower(step), strings.Join(slices.Sorted(maps.Keys(mapping)), ", "))
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
