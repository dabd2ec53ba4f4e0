package replica

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/testkit/redistest"
	"github.com/quorate/quorate/jobs"
)

func nothing(context.Context, jobs.Run) error { return nil }

// What a program does not set is as in a file that does not say it.
func TestZeroValuesAreDefaults(t *testing.T) {
	t.Parallel()
	made, err := Config{Redis: Redis{Nodes: []string{"redis://h"}}, Jobs: []jobs.Job{{Name: "a", Spec: "@daily", Handler: nothing}}}.over(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	registry := jobs.NewRegistry()
	jobs.Register(registry, "nothing", func(context.Context, jobs.Run, jobs.NoParams) error { return nil })
	read, err := config.Read(config.Source{Path: write(t, "redis: {nodes: [redis://h]}\njobs: {a: {func: nothing, schedule: \"@daily\"}}\n"), Environ: []string{}}, registry)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := made.Jobs["a"].JobPolicy, read.Jobs["a"].JobPolicy; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if changed := config.NeedRestart(made, read); len(changed) > 0 {
		t.Errorf("the settings differ in %v", changed)
	}
	if err := made.Check(nil); err != nil {
		t.Error(err)
	}
}

// A program's settings override the file, also if they are no more than the file allows.
func TestProgramGoesBeforeTheFile(t *testing.T) {
	t.Parallel()
	file := write(t, `
redis: {nodes: [redis://e, redis://f, redis://g]}
scheduler: {timezone: Europe/Paris}
defaults: {timeout: 5m, history: {keep: 7}}
jobs: {a: {func: nothing, schedule: "@daily"}}
`)
	registry := jobs.NewRegistry()
	jobs.Register(registry, "nothing", func(context.Context, jobs.Run, jobs.NoParams) error { return nil })
	cfg, err := Read(file, registry)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Redis = Redis{Nodes: []string{"redis://h"}}
	cfg.Lock.TTL = 5 * time.Second
	cfg.Jobs = []jobs.Job{{Name: "b", Spec: "@daily", Handler: nothing, Retry: jobs.Retry{Attempts: 3, Backoff: time.Hour}, History: jobs.History{MaxBytes: -1}}}
	made, err := cfg.over(cfg.File.Config)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Redis.Nodes) != 1 || made.Redis.Nodes[0].URL != "redis://h" || made.Scheduler.Timezone != "Europe/Paris" || made.SchedulerConfig().SafetyMargin != 500*time.Millisecond {
		t.Errorf("got %+v, %+v, %+v", made.Redis, made.Scheduler, made.Lock)
	}
	b := made.Jobs["b"]
	if b.Timeout != 5*time.Minute || b.Retry.MaxBackoff != time.Hour || b.History != (config.HistoryConfig{Keep: 7}) || len(cfg.File.Config.Jobs) != 1 {
		t.Errorf("got %+v", b)
	}
}

// Each setting that a program can make reaches its key, and no other.
func TestSettingsOfTheProgram(t *testing.T) {
	t.Parallel()
	cfg := Config{
		Namespace: "n", Service: "s", ID: "i", Labels: map[string]string{"zone": "a"}, Timezone: "Europe/Paris", DrainTimeout: time.Minute, MaxRunning: 7, ProbesListen: ":1",
		Redis: Redis{
			Nodes: []string{"redis://h"}, URL: "redis://u", Cluster: []string{"redis://c"}, Copies: 2, Username: "ann", Password: "p",
			NodeTimeout: 2 * time.Second, RestartGrace: 3 * time.Second, Durable: true,
		},
		Lock: Lock{TTL: time.Minute, ExtendEvery: time.Second, SafetyMargin: 2 * time.Second, MaxHold: 3 * time.Second},
	}
	cfg.Redis.Sentinel.Master, cfg.Redis.Sentinel.Addresses = "m", []string{"redis://s"}
	made, err := cfg.over(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"http.probes_listen", "lock.extend_every", "lock.max_hold", "lock.safety_margin", "lock.ttl", "namespace",
		"redis.cluster.addresses", "redis.copies", "redis.durable", "redis.node_timeout", "redis.nodes", "redis.password", "redis.restart_grace",
		"redis.sentinel.addresses", "redis.sentinel.master", "redis.url", "redis.username",
		"replica.id", "replica.labels", "scheduler.drain_timeout", "scheduler.max_running", "service",
	}
	if got := config.NeedRestart(config.Default(), made); !slices.Equal(got, want) { // scheduler.timezone needs none
		t.Errorf("set are %q", got)
	}
	if made.Scheduler.Timezone != "Europe/Paris" || made.Redis.Nodes[0].URL != "redis://h" || made.Redis.Username != "ann" || made.Lock.SafetyMargin != 2*time.Second || made.HTTP.ProbesListen != ":1" {
		t.Errorf("got %+v", made)
	}
}

// Mistakes of a program are told with the name of the setting, and whose it is.
func TestMistakesOfTheProgram(t *testing.T) {
	t.Parallel()
	nodes := Redis{Nodes: []string{"redis://h"}}
	for want, cfg := range map[string]Config{
		"redis.nodes: no nodes are listed": {},
		"jobs.a: has no func":              {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Spec: "@daily"}}},
		"jobs.a: has no schedule":          {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Handler: nothing}}},
		"jobs.a.schedule: ":                {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Spec: "daily", Handler: nothing}}},
		"jobs.a: the program has two":      {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Spec: "@daily", Handler: nothing}, {Name: "a", Spec: "@daily", Handler: nothing}}},
		`"" is not a job name`:             {Redis: nodes, Jobs: []jobs.Job{{Spec: "@daily", Handler: nothing}}},
		"lock.ttl: 1m0s is not below":      {Redis: nodes, Lock: Lock{TTL: time.Minute}},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	file := write(t, "redis: {nodes: [redis://h]}\njobs:\n  a: {func: nothing, schedule: \"@daily\"}\n")
	registry := jobs.NewRegistry()
	jobs.Register(registry, "nothing", func(context.Context, jobs.Run, jobs.NoParams) error { return nil })
	cfg, err := Read(file, registry)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Jobs = []jobs.Job{{Name: "a", Spec: "@daily", Handler: nothing}, {Name: "b", Spec: "@daily", Handler: nothing, Timeout: -1}}
	_, err = New(cfg)
	for _, want := range []string{file + ":3:3: jobs.a: the program has a job of this name, too", "the program: jobs.b.timeout: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Jobs of the program run beside those of the file, and go on when that is read again.
func TestJobsOfTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var own chan jobs.Run
		r, stop := newReloading(t, "jobs:\n  a: {func: count, schedule: \"@every 1s\"}\n", func(r *reloading, c *Config) {
			own = r.ran
			c.Jobs = []jobs.Job{{Name: "mine", Spec: "@every 1s", Handler: func(_ context.Context, run jobs.Run) error {
				own <- run
				return nil
			}}}
		})
		defer stop()
		if got := r.runs(5 * time.Second); !strings.Contains(got, "a:") || !strings.Contains(got, "mine:") {
			t.Errorf("first there are %s", got)
		}
		r.jobs("jobs:\n  b: {func: count, schedule: \"@every 1s\"}\n")
		r.runs(10 * time.Second)
		if got := r.runs(5 * time.Second); !strings.Contains(got, "b:") || !strings.Contains(got, "mine:") || strings.Contains(got, "a:") {
			t.Errorf("after the file has changed there are %s", got)
		}
	})
}

// A cluster of a Config alone runs its jobs.
func TestRunOfAConfig(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		defer minis.Close()
		ran := make(chan jobs.Run, 100)
		told := make(chan jobs.Previous, 100)
		r, err := New(Config{
			Redis: Redis{Nodes: minis.URLs(), Dial: minis.Dial, Embedded: true}, Logger: logTo(t.Output()),
			Jobs: []jobs.Job{{Name: "a", Spec: "@every 1s", Handler: func(ctx context.Context, run jobs.Run) error {
				before, err := run.Previous(ctx)
				told <- before
				ran <- run
				return err
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t.Context(), r)
		if run := <-ran; run.Job != "a" || run.Token == 0 || run.Logger == nil {
			t.Errorf("ran %+v", run)
		}
		if before := <-told; before != (jobs.Previous{}) {
			t.Errorf("the first run was told %+v", before)
		}
		first := <-ran
		if before := <-told; before.Outcome != "succeeded" || first.Tick.Sub(before.Success) != time.Second {
			t.Errorf("the run of %v was told %+v", first.Tick, before)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
