package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/quorate/quorate/jobs"
)

// DefaultFile is read where neither a path nor $QUORATE_CONFIG is given.
const DefaultFile = "config.yaml"

// A File is a configuration that was read, and how it is read again.
type File struct {
	Config   *Config
	Registry *jobs.Registry // nil: there are no functions
	// Source is what is read again when it changes; nil: nothing is.
	Source *Source
	// Adapt, if set, changes what was read again as Config was changed after it was read.
	Adapt func(*Config)
}

// delimiter of paths within koanf. Not a dot: job names may contain dots.
const delimiter = "/"

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

// raw is a configuration as it was written: layered, not yet decoded. The tree
// is nil if there was nothing to decode.
type raw struct {
	tree     map[string]any
	problems *problems
}

// withDefaults returns a copy that says where its parts are.
func (s Source) withDefaults() Source {
	if s.Environ == nil {
		s.Environ = os.Environ()
	}
	s.Path = cmp.Or(s.Path, getenv(s.Environ, "QUORATE_CONFIG"), DefaultFile)
	return s
}

// read layers the parts of a source with koanf. What it cannot read it leaves
// out and reports in raw.problems.
func (s Source) read() raw {
	s = s.withDefaults()
	file := s.Path
	ps := &problems{origin: &origin{file: file}}
	layers := koanf.New(delimiter)
	text, err := os.ReadFile(file)
	if err != nil {
		ps.add(position{file: file}, nil, unreadable(err))
		return raw{problems: ps}
	}
	ps.origin.text = text
	tree, ok := parseDocument(ps, text)
	if !ok {
		return raw{problems: ps}
	}
	ps.check(layers.Load(confmap.Provider(tree, ""), nil))
	for _, set := range append(fromEnviron(ps, s.Environ, layers), fromFlags(ps, s.Set)...) {
		ps.origin.overrides = append(ps.origin.overrides, override{set.path, set.label})
		ps.check(layers.Load(confmap.Provider(set.tree(), ""), nil))
	}
	ps.origin.tree = layers.Raw()
	ps.origin.files = filesIn(ps.origin.tree)
	ps.origin.referenced = sumsOf(ps.origin.files)
	return raw{tree: layers.Raw(), problems: ps}
}

// check reports an error of koanf, which has none for maps in memory.
func (ps *problems) check(err error) {
	if err != nil {
		ps.at(nil, "%v", err)
	}
}

func unreadable(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return "cannot be read: " + err.Error() + "; pass --config FILE or set QUORATE_CONFIG"
}

// Read reads and checks a configuration, and nothing else: it opens no
// connection and needs no secret. The error is a *Error with every
// mistake, joined with the registry's own. Without a registry (nil) names and
// params of functions are taken as they are.
func Read(source Source, registry *jobs.Registry) (*Config, error) {
	r := source.read()
	if r.tree == nil {
		return nil, r.problems.err()
	}
	if source.NoStore {
		for _, section := range []string{SectionRedis, SectionPostgres, SectionEtcd, SectionZooKeeper} {
			delete(r.tree, section)
		}
	}
	cfg := r.decode()
	if source.NoStore { // what fits every lock.ttl
		cfg.Redis.RestartGrace = max(cfg.Redis.RestartGrace, 2*cfg.Lock.TTL)
		cfg.Redis.NodeTimeout = min(cfg.Redis.NodeTimeout, (cfg.Lock.TTL / 5).Truncate(time.Millisecond))
	} else {
		cfg.checkCluster(r.problems)
	}
	cfg.check(r.problems, registry)
	if registry != nil && registry.Err() != nil {
		return nil, errors.Join(registry.Err(), r.problems.err())
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// ReadCluster reads only what says which cluster this is (namespace, the store and
// lock.ttl), and resolves its references. It reports no mistake elsewhere: a
// listing must not fail on a job that only another binary knows.
func ReadCluster(source Source) (Cluster, error) {
	r := source.read()
	if r.tree == nil {
		return Cluster{}, r.problems.err()
	}
	cfg := r.decode()
	cfg.checkCluster(r.problems)
	r.problems.keep(path{"namespace"}, path{"redis"}, path{"postgres"}, path{"etcd"}, path{"zookeeper"}, path{"lock", "ttl"})
	if err := r.problems.err(); err != nil {
		return Cluster{}, err
	}
	cluster := cfg.cluster(r.problems)
	return cluster, r.problems.err()
}

// Cluster returns what the store of the configuration is opened with, as
// ReadCluster does. It expects a Config that Read returned.
func (c *Config) Cluster() (Cluster, error) {
	ps := &problems{origin: c.origin}
	cluster := c.cluster(ps)
	return cluster, ps.err()
}

func (r raw) decode() *Config {
	cfg := Default()
	fill(r.problems, r.tree, cfg)
	cfg.origin = r.problems.origin
	return cfg
}
