package replicatest

import (
	"testing"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// Load reads the configuration at path, with overrides in the form of --set
// (jobs/nightly.report/timeout=5m), and returns its jobs and what it says of
// the scheduler. Every mistake in it ends the test. The environment overrides
// nothing, and no node is contacted.
func Load(tb testing.TB, path string, registry *jobs.Registry, set ...string) schedtest.Setup {
	tb.Helper()
	cfg, err := config.Read(config.Source{Path: path, Environ: []string{}, Set: set}, registry)
	if err != nil {
		tb.Fatal(err)
	}
	list, err := cfg.JobList(registry)
	if err != nil {
		tb.Fatal(err)
	}
	return schedtest.Setup{Jobs: list, Config: cfg.SchedulerConfig()}
}
