package replica

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

func nothing(context.Context, jobs.Run) error { return nil }

// What a program does not set is as in a file that does not say it.
func TestZeroValuesAreDefaults(t *testing.T) {
	t.Parallel()
	made, err := Config{Redis: settings.Redis{Nodes: settings.Nodes("redis://h")}, Jobs: []jobs.Job{{Name: "a", Spec: "@daily", Handler: nothing}}}.over(config.Default())
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
	cfg.Redis = settings.Redis{Nodes: settings.Nodes("redis://h")}
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

// A program without a file is the source of all that it sets, of its store, too.
func TestSourcesWithoutAFile(t *testing.T) {
	t.Parallel()
	r, err := New(Config{Redis: settings.Redis{Nodes: settings.Nodes("redis://h")}, Replica: settings.Replica{ID: "a", Labels: map[string]string{"a.b": "x"}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.store.Close()
	host := r.Shown()
	shown, source := host.Settings()
	want := map[string]string{"redis.nodes": "the program", "replica.id": "the program", `replica.labels."a.b"`: "the program"}
	if got := view.Sources(shown, host.Usual, source); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Each setting that a program can make reaches its key, and no other.
func TestSettingsOfTheProgram(t *testing.T) {
	t.Parallel()
	cfg := Config{
		Namespace: "n", Service: "s", Replica: settings.Replica{ID: "i", Labels: map[string]string{"zone": "a"}},
		Redis: settings.Redis{
			Nodes: []settings.Node{{Name: "one", URL: "redis://h"}}, URL: "redis://u", Copies: new(2), Username: "ann", Password: "p",
			NodeTimeout: 2 * time.Second, RestartGrace: 3 * time.Second, Durable: new(true),
		},
		Lock:      settings.Lock{TTL: time.Minute, ExtendEvery: time.Second, SafetyMargin: 2 * time.Second, MaxHold: new(3 * time.Second)},
		HTTP:      settings.HTTP{ProbesListen: ":1", Users: map[string]settings.User{"ann": {}}},
		Scheduler: settings.Scheduler{Timezone: "Europe/Paris", DrainTimeout: time.Minute, MaxRunning: new(7)},
		Webhooks:  []settings.Webhook{{URL: "https://h"}},
	}
	cfg.Redis.Sentinel.Master, cfg.Redis.Sentinel.Addresses = "m", []settings.Secret{"redis://s"}
	cfg.Redis.Cluster.Addresses = []settings.Secret{"redis://c"}
	made, err := cfg.over(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"http.probes_listen", "http.users", "lock.extend_every", "lock.max_hold", "lock.safety_margin", "lock.ttl", "namespace",
		"redis.cluster.addresses", "redis.copies", "redis.durable", "redis.node_timeout", "redis.nodes", "redis.password", "redis.restart_grace",
		"redis.sentinel.addresses", "redis.sentinel.master", "redis.url", "redis.username",
		"replica.id", "replica.labels", "scheduler.drain_timeout", "scheduler.max_running", "service", "webhooks",
	}
	if got := config.NeedRestart(config.Default(), made); !slices.Equal(got, want) { // scheduler.timezone needs none
		t.Errorf("set are %q", got)
	}
	if made.Scheduler.Timezone != "Europe/Paris" || made.Redis.Nodes[0].Name != "one" || made.Redis.Username != "ann" || made.Lock.SafetyMargin != 2*time.Second || made.HTTP.ProbesListen != ":1" {
		t.Errorf("got %+v", made)
	}
}

// Zero and false are settings of a program, too, where they are not the same as none.
func TestProgramOverridesWithZeroAndFalse(t *testing.T) {
	t.Parallel()
	cfg, err := Read(write(t, `
redis: {url: redis://h, copies: 2, durable: true}
lock: {max_hold: 1h}
scheduler: {stagger: 1s, reload_every: 1m, forget_after: 48h, max_running: 3}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	nothing, none := new(time.Duration(0)), new(0)
	for name, program := range map[string]Config{
		"nothing set":    {},
		"zero and false": {Redis: settings.Redis{Copies: none, Durable: new(false)}, Lock: settings.Lock{MaxHold: nothing}, Scheduler: settings.Scheduler{Stagger: nothing, ReloadEvery: nothing, ForgetAfter: nothing, MaxRunning: none}},
	} {
		made, err := program.over(cfg.File.Config)
		if err != nil {
			t.Fatal(err)
		}
		s, r := made.Scheduler, made.Redis
		got := []any{*r.Copies, *r.Durable, *made.Lock.MaxHold, *s.Stagger, *s.ReloadEvery, *s.ForgetAfter, *s.MaxRunning}
		want := []any{2, true, time.Hour, time.Second, time.Minute, 48 * time.Hour, 3}
		if name != "nothing set" {
			want = []any{0, false, time.Duration(0), time.Duration(0), time.Duration(0), time.Duration(0), 0}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Mistakes of a program are told with the name of the setting, and whose it is.
func TestMistakesOfTheProgram(t *testing.T) {
	t.Parallel()
	nodes := settings.Redis{Nodes: settings.Nodes("redis://h")}
	for want, cfg := range map[string]Config{
		"redis.nodes: no nodes are listed": {},
		"jobs.a: has no Handler":           {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Spec: "@daily"}}},
		"jobs.a: has no schedule":          {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Handler: nothing}}},
		"jobs.a.schedule: ":                {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Spec: "daily", Handler: nothing}}},
		"jobs.a: the program has two":      {Redis: nodes, Jobs: []jobs.Job{{Name: "a", Spec: "@daily", Handler: nothing}, {Name: "a", Spec: "@daily", Handler: nothing}}},
		`"" is not a job name`:             {Redis: nodes, Jobs: []jobs.Job{{Spec: "@daily", Handler: nothing}}},
		"lock.ttl: 1m0s is not below":      {Redis: nodes, Lock: settings.Lock{TTL: time.Minute}},
		"lock.ttl: -1ns is not a positive": {Redis: nodes, Lock: settings.Lock{TTL: -1}},
		"redis.copies: -1 is negative":     {Redis: settings.Redis{URL: "redis://h", Copies: new(-1)}},
		`webhooks[0].events[0]: "won" is`:  {Redis: nodes, Webhooks: []settings.Webhook{{URL: "https://h", Events: []string{"won"}}}},
		`http.anonymous: "some" is`:        {Redis: nodes, HTTP: settings.HTTP{Anonymous: "some"}},
		`http.users.ann.role: "king" is`:   {Redis: nodes, HTTP: settings.HTTP{Users: map[string]settings.User{"ann": {Role: "king", Token: "x"}}}},
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
			Redis: settings.Redis{Nodes: settings.Nodes(minis.URLs()...)}, Dial: minis.Dial, Embedded: true, Logger: logTo(t.Output()),
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
