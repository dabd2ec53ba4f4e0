package replica

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A reloading is a replica whose configuration file a test writes.
type reloading struct {
	t    *testing.T
	path string
	head string // what every content begins with
	log  logtest.Buffer
	ran  chan jobs.Run
	*Replica
}

// newReloading starts a replica with the given jobs; the returned function stops
// it.
func newReloading(t *testing.T, jobsYAML string, change func(*reloading, *Config)) (*reloading, func()) {
	t.Helper()
	minis := redistest.MiniN(t, 3)
	registry, ran := countTicks(t)
	r := &reloading{t: t, path: filepath.Join(t.TempDir(), "config.yaml"), ran: ran}
	r.head = "redis: {nodes: [" + strings.Join(minis.URLs(), ", ") + "]}\n"
	r.write(r.head + jobsYAML)
	source := config.Source{Path: r.path, Environ: []string{}}
	cfg, err := config.Read(source, registry)
	if err != nil {
		t.Fatal(err)
	}
	initialize(t, cfg, func(c *membership.Config) { c.Dial, c.Embedded = minis.Dial, true })
	options := Config{Logger: logTo(&r.log), Replica: settings.Replica{ID: "a"}, Dial: minis.Dial, Embedded: true}
	if change != nil {
		change(r, &options)
	}
	options.File, options.Registry = &config.File{Config: cfg, Source: &source}, registry
	if r.Replica, err = New(options); err != nil {
		t.Fatal(err)
	}
	stop := start(t.Context(), r.Replica)
	return r, func() {
		t.Helper()
		if err := stop(); err != nil {
			t.Error(err)
		}
		minis.Close()
	}
}

func (r *reloading) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// jobs writes the file anew.
func (r *reloading) jobs(text string) { r.t.Helper(); r.write(r.head + text) }

// runs lets the time pass and counts the runs by job.
func (r *reloading) runs(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	counts := map[string]int{}
	for len(r.ran) > 0 {
		counts[(<-r.ran).Job]++
	}
	return fmt.Sprint(counts)
}

// said fails unless the log holds text exactly so often.
func (r *reloading) said(times int, text string) {
	r.t.Helper()
	if n := strings.Count(r.log.String(), text); n != times {
		r.t.Errorf("the log says %d times, not %d, %q:\n%s", n, times, text, r.log.String())
	}
}

// TestReload: the file changes while a replica runs; so do its jobs, and the log
// says in a line for each what has.
func TestReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, stop := newReloading(t, `
jobs:
  stays: {func: count, schedule: "@every 1s"}
  goes: {func: count, schedule: "@every 1s"}
  changes: {func: count, schedule: "@every 1s"}
  old: {func: count, schedule: "@every 1s"}
`, nil)
		defer stop()
		time.Sleep(2500 * time.Millisecond)
		r.runs(0)
		r.jobs(`
jobs:
  stays: {func: count, schedule: "@every 1s"}
  changes: {func: count, schedule: "@every 2s", timeout: 5m}
  comes: {func: count, schedule: "@every 1s"}
  new: {func: count, schedule: "@every 1s", formerly: old}
`)
		time.Sleep(6 * time.Second) // the next look, and the file settles
		r.runs(0)
		if got := r.runs(4 * time.Second); got != "map[changes:2 comes:4 new:4 stays:4]" {
			t.Errorf("runs in 4 s: %s", got)
		}
		r.said(1, `msg="job added" quorate.replica=a job=comes`)
		r.said(1, `msg="job changed" quorate.replica=a job=changes settings="[schedule timeout]"`)
		r.said(1, `msg="job removed" quorate.replica=a job=goes`)
		r.said(1, `msg="job renamed" quorate.replica=a job=new formerly=old`)
		r.said(0, "job=stays settings")
	})
}

// TestReloadOfABadFile changes nothing and says what is wrong with its place,
// once; the next good one is taken.
func TestReloadOfABadFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const good = "jobs:\n  a: {func: count, schedule: \"@every 1s\"}\n"
		r, stop := newReloading(t, good, nil)
		defer stop()
		time.Sleep(1500 * time.Millisecond)
		r.jobs("jobs:\n  a: {func: count, schedule: \"@evry 1s\"}\n  b: {func: nosuch, schedule: \"@daily\"}\n")
		time.Sleep(30 * time.Second)
		r.runs(0)
		r.said(1, "config.yaml:3:31: jobs.a.schedule:")
		r.said(1, "config.yaml:4:13: jobs.b.func:")
		r.said(2, "the configuration was not applied: the old jobs continue")
		if err := os.Remove(r.path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		r.runs(0)
		r.said(1, "no such file")
		if got := r.runs(3 * time.Second); got != "map[a:3]" {
			t.Errorf("runs in 3 s: %s", got)
		}
		r.jobs("jobs:\n  b: {func: count, schedule: \"@every 1s\"}\n")
		time.Sleep(6 * time.Second)
		r.runs(0)
		if got := r.runs(3 * time.Second); got != "map[b:3]" {
			t.Errorf("runs in 3 s: %s", got)
		}
		r.said(1, "the new jobs are valid again")
	})
}

// TestReloadThroughALink follows a Kubernetes ConfigMap: the file is a link into
// a directory that is a link itself, and that one is replaced.
func TestReloadThroughALink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, stop := newReloading(t, "jobs:\n  a: {func: count, schedule: \"@every 1s\"}\n", nil)
		defer stop()
		dir := filepath.Dir(r.path)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(r.path)
		must(err)
		info, err := os.Stat(r.path)
		must(err)
		for version, old := range map[string]string{"..v1": "a:", "..v2": "b:"} {
			must(os.Mkdir(filepath.Join(dir, version), 0o700))
			file := filepath.Join(dir, version, "config.yaml")
			must(os.WriteFile(file, []byte(strings.Replace(string(text), "a:", old, 1)), 0o600))
			must(os.Chtimes(file, info.ModTime(), info.ModTime())) // times and sizes say nothing
		}
		must(os.Symlink("..v1", filepath.Join(dir, "..data")))
		must(os.Remove(r.path))
		must(os.Symlink(filepath.Join("..data", "config.yaml"), r.path))
		time.Sleep(10 * time.Second)
		r.said(0, "job added")
		must(os.Symlink("..v2", filepath.Join(dir, "..next")))
		must(os.Rename(filepath.Join(dir, "..next"), filepath.Join(dir, "..data")))
		time.Sleep(10 * time.Second)
		r.said(1, `msg="job added" quorate.replica=a job=b`)
		r.said(1, `msg="job removed" quorate.replica=a job=a`)
	})
}

// TestReloadWaitsForTheWriter: a file that is being written is not read.
func TestReloadWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const a, b = "jobs:\n  a: {func: count, schedule: \"@every 1s\"}\n", "  b: {func: count, schedule: \"@every 1s\"}\n"
		r, stop := newReloading(t, a+b, nil)
		defer stop()
		time.Sleep(4900 * time.Millisecond)
		r.jobs(a + b + "  draft: {func: count, schedule: \"@every 1s\"}\n") // just before the look at 5 s
		time.Sleep(200 * time.Millisecond)
		r.jobs(a + b + "  c: {func: count, schedule: \"@every 1s\"}\n")
		time.Sleep(10 * time.Second)
		r.said(0, "job removed")
		r.said(0, "job=draft")
		r.said(1, `msg="job added" quorate.replica=a job=c`)
	})
}

// TestReloadWhenAsked: without looks at the file it is read when somebody asks;
// and it says which settings need a restart, while the jobs are taken.
func TestReloadWhenAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const only = "scheduler: {reload_every: 0s}\n"
		r, stop := newReloading(t, only+"jobs:\n  a: {func: count, schedule: \"@every 1s\"}\n", nil)
		defer stop()
		r.jobs(only + "lock: {ttl: 10s}\nlog: {level: debug}\njobs:\n  b: {func: count, schedule: \"@every 1s\"}\n")
		time.Sleep(time.Minute)
		r.said(0, "job added")
		r.Reload()
		time.Sleep(time.Second)
		r.said(1, "job added")
		r.said(1, `msg="settings besides the jobs have changed; they count from the next start" quorate.replica=a settings="lock.ttl, log.level"`)
		r.said(1, "the configuration was read again")
		r.Reload()
		time.Sleep(time.Second)
		r.said(1, "they count from the next start")
		r.said(2, "the configuration was read again") // though nothing differs

		// What waits is what differs from the start, not from the file before.
		r.jobs(only + "log: {level: debug}\njobs:\n  b: {func: count, schedule: \"@every 1s\"}\n")
		r.Reload()
		time.Sleep(time.Second)
		r.said(1, `next start" quorate.replica=a settings=log.level`)
		r.jobs(only + "jobs:\n  b: {func: count, schedule: \"@every 1s\"}\n")
		r.Reload()
		time.Sleep(time.Second)
		r.said(2, "they count from the next start")
		r.said(1, "settings besides the jobs are again those of the start")
		r.jobs("nonsense")
		r.Reload()
		time.Sleep(time.Second)
		r.said(4, "the configuration was read again")
	})
}

// A reload moves the lines that settings come from.
func TestReloadMovesSources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const only, rest = "scheduler: {reload_every: 0s}\n", "lock: {ttl: 10s}\njobs:\n  a: {func: count, schedule: \"@every 1s\"}\n"
		r, stop := newReloading(t, only+rest, nil)
		defer stop()
		for _, want := range []string{"config.yaml:3", "config.yaml:5"} {
			shown, source := r.Shown().Settings()
			if got := view.Sources(shown, nil, source)["lock.ttl"]; got != want {
				t.Errorf("lock.ttl comes from %s, want %s", got, want)
			}
			r.jobs(only + "\n\n" + rest)
			r.Reload()
			time.Sleep(time.Second)
		}
	})
}

// TestJobsFromASource run beside those of the file, and survive its reload.
func TestJobsFromASource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		schedule, err := schedule.Parse("@every 1s", schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, stop := newReloading(t, "jobs:\n  a: {func: count, schedule: \"@every 1s\"}\n", func(r *reloading, o *Config) {
			o.Source = scheduler.SourceFunc(func(context.Context) ([]jobs.Job, error) {
				return []jobs.Job{{Name: "customer", Schedule: schedule, Handler: func(_ context.Context, run jobs.Run) error {
					r.ran <- run
					return nil
				}}}, nil
			})
		})
		defer stop()
		time.Sleep(500 * time.Millisecond)
		r.jobs("jobs:\n  b: {func: count, schedule: \"@every 1s\"}\n")
		time.Sleep(6 * time.Second)
		r.runs(0)
		if got := r.runs(3 * time.Second); got != "map[b:3 customer:3]" {
			t.Errorf("runs in 3 s: %s", got)
		}
		r.jobs("jobs:\n  customer: {func: count, schedule: \"@every 1s\"}\n")
		time.Sleep(6 * time.Second)
		r.said(1, `job \"customer\" is listed twice`)
	})
}

// A half-written file lacks jobs, or is the old one cut off. It counts once it has stayed the same
// for secondLook.
func TestReloadOfAHalfWrittenFile(t *testing.T) {
	t.Parallel()
	const job = ": {func: count, schedule: \"@every 1s\"}\n"
	const whole = "jobs:\n  a" + job + "  b" + job + "  c" + job
	for name, half := range map[string]string{
		"no job":            "jobs:\n",
		"no section":        "",
		"one of three":      "jobs:\n  a" + job,
		"another one":       "jobs:\n  new" + job,
		"most, but longer":  "# " + strings.Repeat("x", len(whole)) + "\njobs:\n  new" + job,
		"two, but longer":   "# " + strings.Repeat("x", len(whole)) + "\njobs:\n  a" + job,
		"cut between jobs":  "jobs:\n  a" + job + "  b" + job,
		"cut within a line": strings.TrimSuffix(whole, "1s\"}\n") + "2s\"}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, stop := newReloading(t, whole, nil)
				defer stop()
				time.Sleep(4500 * time.Millisecond)
				r.jobs(half)
				time.Sleep(time.Second)
				r.Reload() // asked for, it is as careful
				r.runs(0)
				if got := r.runs(9 * time.Second); got != "map[a:9 b:9 c:9]" {
					t.Errorf("runs in 9 s of a file that may be half written: %s", got)
				}
				r.said(2, `level=WARN msg="the new jobs may be half written: the old jobs continue until they were read again"`)
				r.jobs(whole)
				time.Sleep(20 * time.Second)
				r.said(0, "job removed")
				r.said(0, "job changed")
				r.jobs(half)
				time.Sleep(10 * time.Second) // the first look at it was long ago
				r.said(0, "job removed")
				r.said(0, "job changed")
				time.Sleep(settled + secondLook - 5*time.Second)
				if strings.Count(r.log.String(), "job removed")+strings.Count(r.log.String(), "job changed") == 0 {
					t.Errorf("the file stays as it is and is not taken:\n%s", r.log.String())
				}
				if !strings.Contains(half, "a:") && !strings.Contains(half, "new:") {
					r.said(1, `level=WARN msg="the configuration has no jobs: nothing runs"`)
				}
			})
		})
	}
}

// One job of several that is gone is no loss that has to wait, if the file goes on behind it.
func TestReloadOfOneJobLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const job = ": {func: count, schedule: \"@every 1s\"}\n"
		r, stop := newReloading(t, "jobs:\n  a"+job+"  b"+job+"  c"+job, nil)
		defer stop()
		r.jobs("jobs:\n  a" + job + "  c" + job)
		time.Sleep(6 * time.Second)
		r.said(1, `msg="job removed" quorate.replica=a job=b`)
		r.said(0, "half written")
	})
}

// settled is more than a file that is being polled must stay the same.
const settled = time.Second

// Jobs of the program do not hide that all those of the file are gone; and one that replaces
// another is taken at once.
func TestReloadCountsJobsOfTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, stop := newReloading(t, "jobs:\n  a: {func: count, schedule: \"@every 1s\"}\n", func(r *reloading, o *Config) {
			for _, name := range []string{"x", "y", "z"} {
				o.Jobs = append(o.Jobs, jobs.Job{Name: name, Spec: "@every 1s", Handler: func(_ context.Context, run jobs.Run) error { return nil }})
			}
		})
		defer stop()
		r.jobs("jobs: # " + strings.Repeat("x", 200) + "\n") // it is longer than before
		time.Sleep(15 * time.Second)
		r.said(0, "job removed")
		r.said(1, "the new jobs may be half written")
		r.jobs("jobs:\n  b: {func: count, schedule: \"@every 1s\"}\n")
		time.Sleep(6 * time.Second)
		r.said(1, `msg="job removed" quorate.replica=a job=a`)
		r.jobs("jobs:\n")
		time.Sleep(6*time.Second + secondLook)
		r.said(1, `msg="job removed" quorate.replica=a job=b`)
		r.said(0, "has no jobs")
	})
}

func TestNoJobsWarn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, stop := newReloading(t, "jobs:\n", nil)
		defer stop()
		time.Sleep(time.Second)
		r.said(1, `level=WARN msg="the configuration has no jobs: nothing runs"`)
	})
	synctest.Test(t, func(t *testing.T) {
		r, stop := newReloading(t, "jobs:\n", func(_ *reloading, c *Config) {
			c.Source = scheduler.SourceFunc(func(context.Context) ([]jobs.Job, error) { return nil, nil })
		})
		defer stop()
		time.Sleep(time.Second)
		r.said(0, "the configuration has no jobs") // some may come
	})
}
