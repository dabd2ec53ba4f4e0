package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// sourced has values from all sources; its first line is empty.
const sourced = `
namespace: '${env:SOURCED_NAMESPACE}'
service: '${file:SECRETS/service}'
replica:
  labels: {example.com/zone: eu, "1.2": x, rack: a}
redis:
  nodes:
  - redis://127.0.0.1:7101
  password: ${file:SECRETS/redis-password}
  username: ${env:SOURCED_NAMESPACE}
lock:
  ttl: 16s
log: {level: debug}
groups:
  db.a: {max_running: 2}
jobs:
  a: {func: report, schedule: "@daily"}
`

// Each setting names the file with its line, the variable or the flag that set it, and the references
// in it. None of these names a directory.
func TestSourceOf(t *testing.T) {
	t.Setenv("SOURCED_NAMESPACE", "hunter2")
	secrets := t.TempDir()
	for _, name := range []string{"service", "redis-password"} {
		rewrite(t, filepath.Join(secrets, name), []byte("hunter2\n"))
	}
	cfg, err := Read(Source{
		Path:    write(t, strings.ReplaceAll(sourced, "SECRETS", secrets)),
		Environ: []string{"QUORATE__LOG__LEVEL=warn", "QUORATE__LOG__FORMAT=json", "QUORATE__REPLICA__LABELS={rack: b}", "QUORATE__HTTP__BASE_PATH=/${env:SOURCED_NAMESPACE}"},
		Set:     []string{"log.level=error", "lock={extend_every: 2s}"},
	}, newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Merge(Config{Redis: settings.Redis{Username: "ann"}, Scheduler: settings.Scheduler{DrainTimeout: time.Minute}})
	if err := cfg.AddJobs([]jobs.Job{{Name: "b", Spec: "@daily"}}); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"namespace":                       "config.yaml:2, environment variable SOURCED_NAMESPACE",
		"service":                         "config.yaml:3, file service",
		"replica labels example.com/zone": "config.yaml:5",
		"replica labels 1.2":              "config.yaml:5",
		"replica labels rack":             "environment variable QUORATE__REPLICA__LABELS",
		"redis nodes":                     "config.yaml:7",
		"redis password":                  "config.yaml:9, file redis-password",
		"redis username":                  "the program",
		"redis node_timeout":              "",
		"lock ttl":                        "config.yaml:12",
		"lock extend_every":               "--set lock",
		"log level":                       "--set log.level",
		"log format":                      "environment variable QUORATE__LOG__FORMAT",
		"http base_path":                  "environment variable QUORATE__HTTP__BASE_PATH, environment variable SOURCED_NAMESPACE",
		"groups db.a max_running":         "config.yaml:15",
		"scheduler drain_timeout":         "the program",
		"jobs a func":                     "config.yaml:17",
		"jobs b func":                     "the program",
	} {
		if got := cfg.SourceOf(strings.Fields(at)...); got != want {
			t.Errorf("%s comes from %q, want %q", at, got, want)
		}
	}
}

// A relative path is shown as the operator wrote it.
func TestSourceOfARelativeFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("conf", 0o700); err != nil {
		t.Fatal(err)
	}
	rewrite(t, "conf/a.yaml", []byte("redis: {nodes: [redis://h]}\nlock: {ttl: 16s}\n"))
	cfg, err := Read(Source{Path: "conf/a.yaml", Environ: []string{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.SourceOf("lock", "ttl"); got != "conf/a.yaml:2" {
		t.Errorf("it comes from %q", got)
	}
}

// After a reload the lines are those of the new file. A setting that keeps its value until a restart has none
// there.
func TestSourceOfAfterAReload(t *testing.T) {
	t.Parallel()
	const head, tail = "redis: {nodes: [redis://h]}\n", "scheduler: {timezone: Asia/Tokyo}\n"
	read := func(text string) *Config {
		t.Helper()
		cfg, err := Read(Source{Path: write(t, head+text+tail), Environ: []string{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	running := read("lock: {ttl: 10s}\nlog: {level: debug}\nreplica: {labels: {a: b}}\n")
	for _, step := range []struct{ text, ttl, level, label, timezone string }{
		{"\nlog: {level: debug}\nlock: {ttl: 10s}\nreplica: {labels: {a: b}}\n", "config.yaml:4", "config.yaml:3", "config.yaml:5", "config.yaml:6"},
		{"lock: {ttl: 12s}\nreplica: {labels: {a: b, c: d}}\n", "read at the start; changed since", "read at the start; changed since", "read at the start; changed since", "config.yaml:4"},
		{"lock: {ttl: 10s}\nlog: {level: debug}\nreplica: {labels: {a: b}}\n", "config.yaml:2", "config.yaml:3", "config.yaml:4", "config.yaml:5"},
	} {
		next, err := running.WithJobs(read(step.text), nil)
		if err != nil {
			t.Fatal(err)
		}
		running = next
		for at, want := range map[string]string{"lock ttl": step.ttl, "log level": step.level, "replica labels a": step.label, "scheduler timezone": step.timezone} {
			if got := running.SourceOf(strings.Fields(at)...); got != want {
				t.Errorf("%q: %s comes from %q, want %q", step.text, at, got, want)
			}
		}
	}
}

// Without a file all that is set is the program's.
func TestSourceOfWithoutAFile(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.Merge(Config{Lock: settings.Lock{TTL: time.Minute}})
	if got := cfg.SourceOf("lock", "ttl"); got != "the program" {
		t.Errorf("it comes from %q", got)
	}
}
