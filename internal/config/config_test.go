package config

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
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
	"github.com/quorate/quorate/scheduler"
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
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("got %v, want a *Error", err)
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
		Timezone: "America/New_York", DST: DSTConfig{Gap: "skip", Overlap: "first"},
		Timeout: 5 * time.Minute, Overlap: "skip", OnCrash: "skip",
		Retry:   RetryConfig{Attempts: 2, Backoff: time.Second, MaxBackoff: 5 * time.Minute},
		History: HistoryConfig{Keep: 1000, MaxBytes: 262144},
		CatchUp: CatchUpConfig{Mode: "last", Window: 6 * time.Hour, Max: 100},
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
	want.Retry = RetryConfig{Attempts: 3, Backoff: 2 * time.Second, MaxBackoff: 5 * time.Minute, AttemptTimeout: 10 * time.Minute}
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
	i := slices.IndexFunc(list, func(j scheduler.Job) bool { return j.Name == "nightly.report" })
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
