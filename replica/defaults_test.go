package replica

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A job of the program, and one of a Source, have the defaults of the file like one in the file,
// also after these have changed; and what a job says itself goes before them.
func TestDefaultsHoldForJobsInGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := make(chan time.Duration, 1000)
		limited := func(ctx context.Context, _ jobs.Run) error {
			end, _ := ctx.Deadline()
			limits <- time.Until(end)
			return nil
		}
		second, err := schedule.Parse("@every 1s", schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, stop := newReloading(t, "defaults: {timeout: 2s, tags: [nightly], overlap: queue, priority: 3, group: g}\ngroups: {g: {max_running: 9}}\n", func(_ *reloading, o *Config) {
			o.Jobs = []jobs.Job{{Name: "own", Spec: "@every 1s", Handler: limited}}
			o.Source = scheduler.SourceFunc(func(context.Context) ([]jobs.Job, error) {
				return []jobs.Job{{Name: "sourced", Schedule: second, Handler: limited}}, nil
			})
		})
		defer stop()
		atMost := func(want time.Duration) {
			t.Helper()
			for len(limits) > 0 {
				<-limits
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if len(limits) != 4 {
				t.Errorf("%d runs in 2 s, not 4:\n%s", len(limits), r.log.String())
			}
			for len(limits) > 0 {
				if got := <-limits; got > want {
					t.Errorf("a run has %v, want at most %v", got, want)
				}
			}
		}
		time.Sleep(1500 * time.Millisecond)
		atMost(2 * time.Second)
		r.write(r.head + "defaults: {timeout: 1s}\ngroups: {g: {max_running: 9}}\n")
		time.Sleep(8 * time.Second)
		atMost(time.Second)
	})
}

// What a job says itself goes before the defaults, and the zone of the scheduler is that of jobs
// whose schedule is text.
func TestDefaultsGoBehindTheJob(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Scheduler.Timezone = "Asia/Tokyo"
	cfg.Groups = map[string]config.GroupConfig{"g": {MaxRunning: 9}}
	d := &cfg.Defaults
	d.Timeout, d.Jitter, d.LateAfter, d.Overlap, d.OnCrash, d.Priority, d.Group = 2*time.Minute, time.Second, time.Minute, jobs.OverlapQueue, jobs.CrashRerun, 3, "g"
	d.CatchUp.Mode, d.Retry.Attempts, d.Retry.Backoff, d.Retry.MaxBackoff, d.Retry.AttemptTimeout = jobs.CatchUpLast, 4, 2*time.Second, 3*time.Second, time.Minute
	d.History, d.Labels, d.Tags, d.Paused = config.HistoryConfig{Keep: 7, MaxAge: time.Hour}, map[string]string{"a": "b"}, []string{"t"}, true
	nothing := func(context.Context, jobs.Run) error { return nil }
	made := *cfg
	if err := made.AddJobs([]jobs.Job{{Name: "own", Spec: "0 2 * * *", Handler: nothing}}); err != nil {
		t.Fatal(err)
	}
	list, err := made.JobList(jobs.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	own := list[0]
	if next := own.Schedule.Next(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)); next.Hour() != 17 {
		t.Errorf("the schedule is in UTC: %v", next)
	}
	whole := completed(t, cfg, jobs.Job{Name: own.Name, Schedule: own.Schedule, Handler: own.Handler, Hash: own.Hash, Spec: own.Spec, Timezone: own.Timezone, Code: own.Code, Shape: own.Shape})
	own.Handler, whole.Handler, own.Settings, whole.Settings, own.Bind, whole.Bind = nil, nil, nil, nil, nil, nil
	if !reflect.DeepEqual(own, whole) {
		t.Errorf("a job of a source: %+v\nof the program: %+v", whole, own)
	}
	says := jobs.Job{
		Timeout: time.Second, Jitter: 1, LateAfter: 1, Overlap: jobs.OverlapSkip, OnCrash: jobs.CrashSkip, Group: "h", GroupSize: 1, Priority: -1,
		CatchUp: jobs.CatchUp{Mode: jobs.CatchUpAll, Window: time.Hour, Max: 1}, Retry: jobs.Retry{Attempts: 1, Backoff: 1, MaxBackoff: 2, AttemptTimeout: 3},
		History: jobs.History{Keep: 1, MaxAge: 1, MaxBytes: 1}, Labels: map[string]string{}, Tags: []string{}, Paused: true,
	}
	if got := completed(t, cfg, says); !reflect.DeepEqual(got, says) {
		t.Errorf("%+v becomes %+v", says, got)
	}
}

// completed is a job of a Source as the scheduler gets it.
func completed(t *testing.T, cfg *config.Config, job jobs.Job) jobs.Job {
	t.Helper()
	job.Handler = nothing
	list, err := cfg.Complete([]jobs.Job{job}, jobs.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	list[0].Handler = nil // DeepEqual finds no functions equal
	return list[0]
}

// None goes before the defaults of the file, for which 0 stands.
func TestNoneIsNotTheDefault(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	d := &cfg.Defaults
	d.Jitter, d.LateAfter, d.Retry.AttemptTimeout, d.History.MaxAge = time.Second, time.Minute, time.Minute, time.Hour
	for want, says := range map[time.Duration]time.Duration{time.Minute: 0, 0: jobs.None} {
		job := completed(t, cfg, jobs.Job{Jitter: says, LateAfter: says, Retry: jobs.Retry{AttemptTimeout: says}, History: jobs.History{MaxAge: says}})
		if job.LateAfter != want || job.Retry.AttemptTimeout != want || (job.Jitter == 0) != (want == 0) || (job.History.MaxAge == 0) != (want == 0) {
			t.Errorf("%v becomes %+v", says, job)
		}
	}
}

// A job of a Source may have its schedule as text, to which the defaults apply as in the file.
func TestSourceHasSchedulesAsText(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Scheduler.Timezone = "Asia/Tokyo"
	cfg.Defaults.EndsAt = time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)
	job := completed(t, cfg, jobs.Job{Name: "j", Spec: "0 2 * * *", Handler: nothing})
	first := job.Schedule.Next(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	if first.Hour() != 17 || !job.Schedule.Next(first).IsZero() || job.Timezone != "Asia/Tokyo" {
		t.Errorf("%v in %s, then %v", first, job.Timezone, job.Schedule.Next(first))
	}
	if _, err := cfg.Complete([]jobs.Job{{Name: "j", Spec: "0 25 * * *", Handler: nothing}}, jobs.NewRegistry()); err == nil || !strings.HasPrefix(err.Error(), "jobs.j.schedule: ") {
		t.Errorf("an impossible schedule: %v", err)
	}
}

// The pauses that a job of the program leaves out follow the one that it sets, as in a job of a Source.
func TestOnePauseBoundsTheOther(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	for says, want := range map[jobs.Retry]jobs.Retry{
		{Attempts: 3}:                                     {Attempts: 3, Backoff: time.Second, MaxBackoff: time.Minute},
		{Backoff: time.Hour}:                              {Attempts: 1, Backoff: time.Hour, MaxBackoff: time.Hour},
		{MaxBackoff: 500 * time.Millisecond}:              {Attempts: 1, Backoff: 500 * time.Millisecond, MaxBackoff: 500 * time.Millisecond},
		{Backoff: 2 * time.Minute, MaxBackoff: time.Hour}: {Attempts: 1, Backoff: 2 * time.Minute, MaxBackoff: time.Hour},
	} {
		made, err := Config{Redis: settings.Redis{Nodes: settings.Nodes("redis://h")}, Jobs: []jobs.Job{{Name: "own", Spec: "@daily", Handler: nothing, Retry: says}}}.over(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Check(nil); err != nil {
			t.Error(err)
		}
		if own, sourced := made.Jobs["own"].Retry, completed(t, cfg, jobs.Job{Retry: says}).Retry; own != want || sourced != want {
			t.Errorf("%+v becomes %+v, and %+v of a source, want %+v", says, own, sourced, want)
		}
	}
}

// greeting is the params of a registered function.
type greeting struct{ Customer, Greeting string }

func (g *greeting) SetDefaults() { g.Greeting = "hello" }

// A job in Go may name a registered function with params, as in a file; so may one of a Source, whose
// params read no secrets and run no commands.
func TestJobsOfTheProgramNameFunctions(t *testing.T) {
	t.Setenv("GREETED", "acme")
	var said []string
	registry := jobs.NewRegistry()
	for _, name := range []string{"greet", "exec"} {
		jobs.Register(registry, name, func(_ context.Context, _ jobs.Run, p greeting) error {
			said = append(said, p.Greeting+" "+p.Customer)
			return nil
		})
	}
	job := jobs.Job{Name: "j", Spec: "@daily", Func: "greet", Params: map[string]any{"customer": "${env:GREETED}"}}
	cfg := config.Default()
	cfg.Redis.Nodes = settings.Nodes("redis://127.0.0.1:1")
	if err := errors.Join(cfg.AddJobs([]jobs.Job{job}), cfg.Check(registry)); err != nil {
		t.Fatal(err)
	}
	own, err := cfg.JobList(registry)
	if err != nil {
		t.Fatal(err)
	}
	sourced, err := cfg.Complete([]jobs.Job{job}, registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []jobs.Job{own[0], sourced[0]} {
		asked, err := made.Bind(map[string]any{"greeting": "good night"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(made.Handler(t.Context(), jobs.Run{}), asked(t.Context(), jobs.Run{})); err != nil || made.Shape == nil {
			t.Errorf("%v, with shape %v", err, made.Shape)
		}
	}
	if want := []string{"hello acme", "good night acme", "hello ${env:GREETED}", "good night ${env:GREETED}"}; !slices.Equal(said, want) {
		t.Errorf("the function was called with %q, want %q", said, want)
	}
	for want, wrong := range map[string]jobs.Job{
		"jobs.j.params.customers: unknown":                      {Func: "greet", Params: map[string]any{"customers": 1}},
		"jobs.j.func: exec takes its params from the configura": {Func: "exec"},
		`jobs.j.func: unknown function "great"`:                 {Func: "great"},
		"jobs.j: has no Handler; set one, or Func to the name":  {},
	} {
		wrong.Name, wrong.Spec = "j", "@daily"
		if _, err := cfg.Complete([]jobs.Job{wrong}, registry); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", wrong, err, want)
		}
	}
}
