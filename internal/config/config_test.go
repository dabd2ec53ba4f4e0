package config

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/schedule"
)

var update = flag.Bool("update", false, "write the golden files anew")

type reportParams struct {
	Customer string        `json:"customer"`
	Since    time.Duration `json:"since"`
	Copies   int           `json:"copies"`
}

// newRegistry holds the built-in functions and one with params of its own.
func newRegistry(t *testing.T) *jobs.Registry {
	t.Helper()
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	jobs.Register(registry, "report", func(context.Context, jobs.Run, reportParams) error { return nil })
	if err := registry.Err(); err != nil {
		t.Fatal(err)
	}
	return registry
}

func TestReadReportsEveryMistakeWithItsPlace(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			_, err := Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
			if _, ok := errors.AsType[*settings.Error](err); !ok {
				t.Fatalf("got %v, want a *settings.Error", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func TestReadAcceptsGoodFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			cfg, err := Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cfg.JobList(newRegistry(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestJobsStartFromTheDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := Read(Source{Path: "testdata/good/full.yaml", Environ: []string{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := JobPolicy{
		Timezone: "America/New_York", DST: schedule.DSTPolicy{Gap: "skip", Overlap: "first"},
		Timeout: 5 * time.Minute, Overlap: "skip", OnCrash: "skip",
		Retry:   jobs.Retry{Attempts: 2, Backoff: time.Second, MaxBackoff: 5 * time.Minute},
		History: HistoryConfig{Keep: 1000, MaxBytes: 262144},
		CatchUp: jobs.CatchUp{Mode: "last", Window: 6 * time.Hour, Max: 100},
	}
	if got := cfg.Jobs["ping"].JobPolicy; !reflect.DeepEqual(got, want) {
		t.Errorf("a job that says nothing: got %+v, want %+v", got, want)
	}
	want.Exclude, want.Jitter = []string{"holidays", "public"}, 30*time.Second
	want.StartsAt, want.EndsAt = time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC), time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	want.Timezone, want.DST.Overlap, want.Timeout, want.Overlap = "Europe/Paris", "both", 30*time.Minute, "queue"
	want.OnCrash = "rerun"
	want.Group, want.Priority = "billing", 5
	want.Labels = map[string]string{"zone": "a"}
	want.LateAfter, want.History = 10*time.Minute, HistoryConfig{Keep: 100, MaxAge: 720 * time.Hour, MaxBytes: 65536}
	want.Tags, want.Paused = []string{"finance", "reports"}, true
	want.Retry = jobs.Retry{Attempts: 3, Backoff: 2 * time.Second, MaxBackoff: 5 * time.Minute, AttemptTimeout: 10 * time.Minute}
	if got := cfg.Jobs["nightly.report"].JobPolicy; !reflect.DeepEqual(got, want) {
		t.Errorf("a job that says a part: got %+v, want %+v", got, want)
	}
}

// What the file says of a schedule is what the job gets.
func TestSchedulesArePutTogether(t *testing.T) {
	t.Parallel()
	cfg, err := Read(Source{Path: "testdata/good/full.yaml", Environ: []string{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := cfg.JobList(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(j jobs.Job) bool { return j.Name == "nightly.report" })
	job := list[i]
	if job.Spec != "0 2 * * * | 0 0 12 L * * 2027-2030" || job.Jitter != 30*time.Second {
		t.Errorf("spec %q, jitter %s", job.Spec, job.Jitter)
	}
	var got []string
	for _, p := range schedule.Preview(job.Schedule, time.Date(2026, 12, 22, 12, 0, 0, 0, time.UTC), 8) {
		got = append(got, p.Tick.Format("01-02T15:04"))
	}
	// 24 December to 26, 31 December and 1 January are holidays; maintenance on
	// 2 January is in the evening.
	want := []string{"12-23T01:00", "12-27T01:00", "12-28T01:00", "12-29T01:00", "12-30T01:00", "01-02T01:00", "01-03T01:00", "01-04T01:00"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if ends := schedule.Preview(job.Schedule, time.Date(2029, 12, 30, 12, 0, 0, 0, time.UTC), 8); len(ends) != 2 {
		t.Errorf("after the last days of 2029 come %v", ends)
	}
}

// The hash of a job follows what its calendars hold.
func TestHashFollowsCalendars(t *testing.T) {
	t.Parallel()
	hashes := map[string]bool{}
	for _, set := range [][]string{nil, {"calendars/holidays/dates=[\"2026-12-24\"]"}, {"calendars/public/ics="}, {"jobs/nightly.report/starts_at=2026-11-01T00:00:00Z"}} {
		if set != nil && set[0] == "calendars/public/ics=" {
			set = append(set, "calendars/public/dates=[\"2026-12-24\"]")
		}
		cfg, err := Read(Source{Path: "testdata/good/full.yaml", Environ: []string{}, Set: set}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := cfg.JobList(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list {
			if j.Name == "nightly.report" {
				hashes[j.Hash] = true
			}
		}
	}
	if len(hashes) != 4 {
		t.Errorf("%d hashes of four versions", len(hashes))
	}
}

func TestLoggerTakesLevelAndFormat(t *testing.T) {
	t.Parallel()
	for cfg, want := range map[LogConfig]string{
		{Level: "info", Format: "text"}:  "level=INFO msg=b\n",
		{Level: "warn", Format: "text"}:  "",
		{Level: "debug", Format: "json"}: `{"level":"DEBUG","msg":"a"}` + "\n" + `{"level":"INFO","msg":"b"}` + "\n",
	} {
		var out strings.Builder
		log := NewLogger(cfg, &out)
		for _, r := range []slog.Record{slog.NewRecord(time.Time{}, slog.LevelDebug, "a", 0), slog.NewRecord(time.Time{}, slog.LevelInfo, "b", 0)} {
			if log.Enabled(t.Context(), r.Level) {
				if err := log.Handler().Handle(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		}
		if out.String() != want {
			t.Errorf("%+v: got %q, want %q", cfg, out.String(), want)
		}
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/schema.golden.json", string(text)+"\n")
}

// golden compares got with the content of file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (write it anew with -update, and read the diff)\ngot:\n%swant:\n%s", file, got, want)
	}
}

func TestShippedConfig(t *testing.T) {
	t.Parallel()
	cfg, err := Read(Source{Path: "../../config.yaml", Environ: []string{"A=b"}}, newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Redis.Nodes) != 5 || len(cfg.Jobs) < 3 {
		t.Errorf("%d nodes and %d jobs", len(cfg.Redis.Nodes), len(cfg.Jobs))
	}
	for name, job := range cfg.Jobs {
		if job.Func != "exec" && job.Func != "http" {
			t.Errorf("job %s uses %s, which is not built in", name, job.Func)
		}
	}
}

// mistakes reads a configuration with a store and returns what is wrong with it; the file is
// called config.yaml.
func mistakes(t *testing.T, text string, environ ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("redis: {nodes: [redis://127.0.0.1:7101]}\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(Source{Path: file, Environ: append([]string{}, environ...)}, newRegistry(t))
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), file, "config.yaml")
}

// A mistake that many jobs have is told of twenty, and counted.
func TestManyMistakesAreCounted(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("jobs:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  job%03d: {func: nosuch, schedule: \"@daily\"}\n", i)
	}
	lines := strings.Split(mistakes(t, text.String()), "\n")
	if len(lines) != 21 || !strings.HasPrefix(lines[19], "config.yaml:22:") || lines[20] != "and 980 more mistakes: mend these, and check again" {
		t.Errorf("%d lines; the last: %q", len(lines), lines[len(lines)-1])
	}
}

func TestMistakesOfYAMLHaveColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"jobs:\n  a: {func: count, schedule: @daily}\n":               "config.yaml:3:30: not valid YAML: found character that cannot start any token",
		"jobs:\n  a:\n\tfunc: report\n":                               "config.yaml:4:1: not valid YAML: found character that cannot start any token",
		"jobs:\n  a: b: c\n":                                          "config.yaml:3:7: not valid YAML: mapping values are not allowed",
		"jobs:\n  a:\n    func: report\n   schedule: x\n":             "config.yaml:5:4: not valid YAML: ",
		"jobs:\n  a:\n    func: report\n    - x\n":                    "config.yaml:5:5: not valid YAML: ",
		"jobs:\n  a: {func: report, schedule: \"@daily}\n  b: x\n":    "config.yaml:3:3: not valid YAML: found unexpected end of stream",
		"jobs:\n  a: {func: \"re\n  port\", x: y}\n  b: x: y\nc: z\n": "config.yaml:5:7: not valid YAML: mapping values",
		"jobs:\n  a: *nosuch\n":                                       "config.yaml:3:6: not valid YAML: unknown anchor 'nosuch' referenced",
		"jobs:\n  a: {func: report, schedule: [\"@daily\"}\n":         "config.yaml:3:3: not valid YAML: did not find expected ',' or ']'",
		"jobs:\n  é: {func: report, x: %y}\n":                         "config.yaml:3:24: not valid YAML: found character that cannot start any token",
	} {
		if got := mistakes(t, text); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n%s\nwant %s", text, got, want)
		}
	}
}

// A reference to something empty is never taken for a default.
func TestEmptyReferences(t *testing.T) {
	t.Setenv("EMPTY", "")
	t.Setenv("BLANK", " \t")
	t.Setenv("COMMENT", "# off")
	t.Setenv("NULL", "null")
	file := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for setting, at := range map[string]string{
		"scheduler: {timezone: %s}":               "scheduler.timezone",
		"defaults: {timezone: %s}":                "defaults.timezone",
		"defaults: {timeout: %s}":                 "defaults.timeout",
		"namespace: %s":                           "namespace",
		"http: {listen: %s}":                      "http.listen",
		"http: {anonymous: %s}":                   "http.anonymous",
		"log: {level: %s}":                        "log.level",
		"metrics: {max_jobs: %s}":                 "metrics.max_jobs",
		"jobs: {a: {func: report, schedule: %s}}": "jobs.a.schedule",
		"jobs: {a: {func: report, schedule: \"@daily\", timezone: %s}}":  "jobs.a.timezone",
		"jobs: {a: {func: report, schedule: \"@daily\", starts_at: %s}}": "jobs.a.starts_at",
		"jobs: {a: {func: report, schedule: \"@daily\", paused: %s}}":    "jobs.a.paused",
		"jobs: {a: {func: report, schedule: \"@daily\", tags: %s}}":      "jobs.a.tags",
		"jobs: {a: {func: report, schedule: \"@daily\", retry: %s}}":     "jobs.a.retry",
		"calendars: {c: {dates: [2026-12-25], timezone: %s}}":            "calendars.c.timezone",
	} {
		for _, ref := range []string{"${env:EMPTY}", "${env:BLANK}", "${env:COMMENT}", "${env:NULL}", "${plain:env:EMPTY}", "${file:" + file + "}"} {
			if at == "namespace" && ref == "${env:NULL}" {
				continue // a name like any other
			}
			got := mistakes(t, fmt.Sprintf(setting, "\""+ref+"\"")+"\n")
			if !strings.Contains(got, ": "+at+": ") {
				t.Errorf("%s with %s: %q, want a mistake at %s", setting, ref, got, at)
			}
			if empty := strings.Contains(ref, "EMPTY") || strings.Contains(ref, "file:"); empty && !strings.Contains(got, at+": "+ref+" is empty") {
				t.Errorf("%s with %s: %q does not say that it is empty", setting, ref, got)
			}
		}
	}
}

// What is resolved late is no default either if it is empty.
func TestEmptyLateReferences(t *testing.T) {
	t.Setenv("EMPTY", "")
	for text, want := range map[string]string{
		"redis: {nodes: [\"redis://127.0.0.1:7101\"], password: \"${env:EMPTY}\"}\n":             "redis.password: ${env:EMPTY} is empty",
		"redis: {nodes: [\"redis://127.0.0.1:7101\"], username: \"${env:EMPTY}\"}\n":             "redis.username: ${env:EMPTY} is empty",
		"etcd: {endpoints: [\"http://127.0.0.1:1\"], username: a, password: \"${env:EMPTY}\"}\n": "etcd.password: ${env:EMPTY} is empty",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCluster(Source{Path: file, Environ: []string{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	user := Config{HTTP: settings.HTTP{Users: map[string]settings.User{"ann": {Password: "${env:EMPTY}", Token: "${env:EMPTY}"}}}}
	if _, err := user.Users(); err == nil || !strings.Contains(err.Error(), "${env:EMPTY} is empty") {
		t.Errorf("a user without password: %v", err)
	}
}

// The zone of a spec goes before that of the whole scheduler, and contradicts that of the job.
func TestZoneOfASpec(t *testing.T) {
	t.Parallel()
	const job = "jobs:\n  a:\n    func: report\n    schedule: %s\n"
	for text, want := range map[string]string{
		fmt.Sprintf(job, "CRON_TZ=Asia/Tokyo 0 2 * * *"):                               "",
		"scheduler: {timezone: Europe/Paris}\n" + fmt.Sprintf(job, "TZ=UTC 0 2 * * *"): "",
		fmt.Sprintf(job, "CRON_TZ=Asia/Tokyo 0 2 * * *\n    timezone: Asia/Tokyo"):     "",
		fmt.Sprintf(job, "CRON_TZ=Asia/Tokyo 0 2 * * *\n    timezone: Europe/Paris"):   "config.yaml:5:15: jobs.a.schedule: CRON_TZ=Asia/Tokyo contradicts the job's timezone, Europe/Paris; remove one",
		fmt.Sprintf(job, "[0 1 * * *, TZ=UTC 0 2 * * *]\n    timezone: Europe/Paris"):  "config.yaml:5:27: jobs.a.schedule[1]: TZ=UTC contradicts the job's timezone",
		"defaults: {timezone: Europe/Paris}\n" + fmt.Sprintf(job, "TZ=UTC 0 2 * * *"):  "config.yaml:6:15: jobs.a.schedule: TZ=UTC contradicts the job's timezone, Europe/Paris; remove one",
	} {
		if got := mistakes(t, text); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s\n%q, want %q", text, got, want)
		}
	}
	cfg := Default()
	cfg.Jobs = map[string]JobConfig{"a": {Func: "report", Schedule: Specs{"TZ=Asia/Tokyo 0 2 * * *"}, JobPolicy: DefaultPolicy()}}
	if list, err := cfg.JobList(nil); err != nil || list[0].Timezone != "Asia/Tokyo" {
		t.Errorf("the job is shown in %+v, %v", list, err)
	}
}

// A comment behind a schedule is one wherever the schedule comes from.
func TestCommentsBehindSchedules(t *testing.T) {
	t.Setenv("SPEC", "0 2 * * * # nightly")
	for text, environ := range map[string][]string{
		"jobs: {a: {func: report, schedule: \"${env:SPEC}\"}}\n":                      nil,
		"jobs: {a: {func: report, schedule: [\"${env:SPEC}\", \"@every 1h # x\"]}}\n": nil,
		"jobs: {a: {func: report, schedule: \"@daily # x\"}}\n":                       nil,
		"jobs: {a: {func: report, schedule: \"@daily\"}}\n":                           {"QUORATE__JOBS__A__SCHEDULE=0 2 * * * # nightly"},
		"jobs: {a: {func: report, schedule: \"@weekly\"}}\n":                          {"QUORATE__JOBS__A__SCHEDULE=@every 5m # often"},
		"jobs: {a: {func: report, schedule: \"@monthly\"}}\n":                         {"QUORATE__JOBS__A__SCHEDULE=${env:SPEC}"},
	} {
		if got := mistakes(t, text, environ...); got != "" {
			t.Errorf("%s%q: %s", text, environ, got)
		}
	}
}
