package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/replica/settings"
)

const overridable = `
redis:
  nodes: [redis://127.0.0.1:7101]
jobs:
  nightly.report: {func: report, schedule: "@daily", params: {customer: all}}
  nightly-report: {func: report, schedule: "@daily"}
  a: {func: report, schedule: "@daily"}
`

// write writes a configuration and returns its path.
func write(tb testing.TB, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env, set []string
		got      func(*Config) any
		want     any
	}{
		"environment": {
			env: []string{"QUORATE__LOCK__TTL=5s"},
			got: func(c *Config) any { return c.Lock.TTL }, want: 5 * time.Second,
		},
		"a field with an underscore": {
			env: []string{"QUORATE__SCHEDULER__DRAIN_TIMEOUT=7s"},
			got: func(c *Config) any { return c.Scheduler.DrainTimeout }, want: 7 * time.Second,
		},
		"set goes before the environment": {
			env: []string{"QUORATE__LOCK__TTL=5s"}, set: []string{"lock/ttl=6s"},
			got: func(c *Config) any { return c.Lock.TTL }, want: 6 * time.Second,
		},
		"the last set wins": {
			set: []string{"lock/ttl=6s", "lock/ttl=7s"},
			got: func(c *Config) any { return c.Lock.TTL }, want: 7 * time.Second,
		},
		"a list in YAML flow replaces the file's": {
			env: []string{"QUORATE__REDIS__NODES=[redis://h1, {name: b, url: redis://h2}, redis://h3]"},
			got: func(c *Config) any { return c.Redis.Nodes[1] }, want: settings.Node{Name: "b", URL: "redis://h2"},
		},
		"a job by its name in capitals": {
			env: []string{"QUORATE__JOBS__A__TIMEOUT=5m"},
			got: func(c *Config) any { return c.Jobs["a"].Timeout }, want: 5 * time.Minute,
		},
		"a job with a dot": {
			set: []string{"jobs/nightly.report/timeout=5m"},
			got: func(c *Config) any { return c.Jobs["nightly.report"].Timeout }, want: 5 * time.Minute,
		},
		"a map is merged": {
			set: []string{"jobs/nightly.report/params/copies=2"},
			got: func(c *Config) any { return len(c.Jobs["nightly.report"].Params) }, want: 2,
		},
		"a new job": {
			set: []string{`jobs/b={func: report, schedule: "@daily"}`},
			got: func(c *Config) any { return c.Jobs["b"].Func }, want: "report",
		},
		"text that YAML takes for a number": {
			env: []string{"QUORATE__REDIS__PASSWORD=0123"},
			got: func(c *Config) any { return string(c.Redis.Password) }, want: "0123",
		},
		"text that YAML takes for a comment": {
			env: []string{"QUORATE__REDIS__PASSWORD=#x: [y"},
			got: func(c *Config) any { return string(c.Redis.Password) }, want: "#x: [y",
		},
		"quoted text": {
			set: []string{`jobs/a/schedule="0 2 * * *"`},
			got: func(c *Config) any { return c.Jobs["a"].Schedule.String() }, want: "0 2 * * *",
		},
		"a spec that YAML takes for an alias": {
			set: []string{`jobs/a/schedule=*/5 * * * *`},
			got: func(c *Config) any { return c.Jobs["a"].Schedule.String() }, want: "*/5 * * * *",
		},
		"a list of specs": {
			env: []string{`QUORATE__JOBS__A__SCHEDULE=["*/5 * * * *", "@daily"]`},
			got: func(c *Config) any { return c.Jobs["a"].Schedule.String() }, want: "*/5 * * * * | @daily",
		},
		"an instant": {
			set: []string{"jobs/a/starts_at=2027-01-01T01:00:00+01:00"},
			got: func(c *Config) any { return c.Jobs["a"].StartsAt }, want: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		},
		"unquoted text": {
			set: []string{`jobs/a/schedule=@every 5s`},
			got: func(c *Config) any { return c.Jobs["a"].Schedule.String() }, want: "@every 5s",
		},
		"set with dots": {
			set: []string{"http.listen=127.0.0.1:9"},
			got: func(c *Config) any { return c.HTTP.Listen }, want: "127.0.0.1:9",
		},
		"set with slashes may have dots in a name": {
			set: []string{"jobs/nightly.report/timeout=7s"},
			got: func(c *Config) any { return c.Jobs["nightly.report"].Timeout }, want: 7 * time.Second,
		},
		"other variables are left alone": {
			env: []string{"QUORATE_SERVICE_HOST=10.0.0.1", "QUORATE_LOCK_TTL=1s", "QUORATEX__LOCK__TTL=1s"},
			got: func(c *Config) any { return c.Lock.TTL }, want: 15 * time.Second,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := Read(Source{Path: write(t, overridable), Environ: append(tt.env, "HOME=/"), Set: tt.set}, newRegistry(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.got(cfg); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOverrideMistakesNameTheirSource(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env, set []string
		want     string
	}{
		"value of a variable": {
			env:  []string{"QUORATE__LOCK__TTL=soon"},
			want: `environment variable QUORATE__LOCK__TTL: lock.ttl: "soon" is not a duration; write a number with its unit, such as 500ms, 15s or 1h30m`,
		},
		"value of a flag": {
			set:  []string{"lock/ttl=20s"},
			want: "--set lock/ttl: lock.ttl: 20s is not below redis.restart_grace (20s), so a node that lost its memory could vote while a lease it forgot lasts; lower it, or raise redis.restart_grace",
		},
		"unknown key of a variable": {
			env:  []string{"QUORATE__LOCK__TLL=5s"},
			want: "environment variable QUORATE__LOCK__TLL: lock.tll: unknown key; did you mean ttl?",
		},
		"unknown key of a flag": {
			set:  []string{"jobs/a/tiemout=5s"},
			want: "--set jobs/a/tiemout: jobs.a.tiemout: unknown key; did you mean timeout?",
		},
		"part of a value": {
			set:  []string{"jobs/b={func: reprot, schedule: '@daily'}"},
			want: `--set jobs/b: jobs.b.func: unknown function "reprot": did you mean "report"? (known: exec, http, report)`,
		},
		"job that is not there": {
			env:  []string{"QUORATE__JOBS__B__TIMEOUT=5m"},
			want: "environment variable QUORATE__JOBS__B__TIMEOUT: no job is called b; a variable can change the jobs of the file (a, nightly-report, nightly.report), not add one; use --set instead",
		},
		"job that could be either": {
			env:  []string{"QUORATE__JOBS__NIGHTLY_REPORT__TIMEOUT=5m"},
			want: "environment variable QUORATE__JOBS__NIGHTLY_REPORT__TIMEOUT: NIGHTLY_REPORT means any of nightly-report, nightly.report in jobs; use --set instead",
		},
		"into a list": {
			env:  []string{"QUORATE__REDIS__NODES__0=redis://h"},
			want: "environment variable QUORATE__REDIS__NODES__0: redis.nodes is a list; set it as a whole, in YAML: [a, b]",
		},
		"empty step": {
			env:  []string{"QUORATE__LOCK__=5s"},
			want: "environment variable QUORATE__LOCK__: the name has an empty step; write it like QUORATE__LOCK__TTL",
		},
		"flag without a value": {
			set:  []string{"lock/ttl"},
			want: "--set lock/ttl: not of the form path=value; write it like jobs/report/timeout=5m",
		},
		"dots where a name may have dots": {
			set:  []string{"jobs.nightly.report.timeout=5m"},
			want: "--set jobs.nightly.report.timeout: names in jobs may contain dots; separate the steps with slashes, as in jobs/nightly.report/timeout=5m",
		},
		"unknown key of a flag with dots": {
			set:  []string{"http.lisen=:80"},
			want: "--set http.lisen: http.lisen: unknown key; did you mean listen?",
		},
		"broken YAML does not show the value": {
			env:  []string{"QUORATE__REDIS__NODES=[redis://user:secret-word@h"},
			want: "environment variable QUORATE__REDIS__NODES: redis.nodes: the value is not valid YAML; quote text, write lists as [a, b] and mappings as {a: b}",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(Source{Path: write(t, overridable), Environ: append(tt.env, "HOME=/"), Set: tt.set}, newRegistry(t))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

func TestReadFindsTheFile(t *testing.T) {
	t.Parallel()
	file := write(t, "namespace: from-variable\nredis: {nodes: [redis://h]}")
	cfg, err := Read(Source{Environ: []string{"QUORATE_CONFIG=" + file}}, nil)
	if err != nil || cfg.Namespace != "from-variable" {
		t.Errorf("got %+v, %v", cfg, err)
	}
	_, err = Read(Source{Path: file + ".missing", Environ: []string{"QUORATE_CONFIG=" + file}}, nil)
	want := file + ".missing: cannot be read: no such file or directory; pass --config FILE or set QUORATE_CONFIG"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Read(Source{Environ: []string{"A=b"}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "config.yaml: cannot be read") {
		t.Errorf("got %v", err)
	}
}

func TestReadClusterNeedsNoJobs(t *testing.T) {
	t.Parallel()
	text := `
namespace: team
redis:
  nodes: [redis://h1, redis://h2, redis://h3]
  password: ${file:` + write(t, "pass-word\n") + `}
lock: {ttl: 5s, margin: 1s}
jobs:
  -bad-: {func: unknown, schedule: never, params: 5}
nonsense: true
`
	cluster, err := ReadCluster(Source{Path: write(t, text), Environ: []string{"A=b"}})
	if err != nil {
		t.Fatal(err)
	}
	if cluster.Namespace != "team" || len(cluster.Redis.Nodes) != 3 || cluster.Redis.Password != "pass-word" || cluster.TTL != 5*time.Second {
		t.Errorf("got %+v", cluster)
	}
	bad := strings.Replace(text, "redis://h3", "redis://h1", 1)
	if _, err := ReadCluster(Source{Path: write(t, bad), Environ: []string{"A=b"}}); err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("got %v, want the one mistake in redis", err)
	}
}
