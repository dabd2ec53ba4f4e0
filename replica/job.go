package replica

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Job is a function of the program and when it runs. Name, Schedule and Func are
// required; the zero value of every other field means the default, which the defaults
// section of a file may change. A job that takes params, excludes days or ends one day
// belongs into config.yaml.
type Job struct {
	// Name is unique among the jobs of the program and of the file.
	Name string
	// Schedule is 5 to 7 cron fields, @daily and the like, @every 30s, or
	// @at 2027-01-01T00:00:00Z.
	Schedule string
	// Func does the work. It is called on one replica for each tick.
	Func func(ctx context.Context, run jobs.Run) error

	// Timeout is how long one run may take. Default scheduler.DefaultTimeout, 1 h.
	Timeout time.Duration
	// Timezone is that of the schedule. Default Config.Timezone.
	Timezone string
	// Description is for people.
	Description string
	// Overlap is the policy for a tick that comes during an earlier run. Default
	// scheduler.OverlapSkip.
	Overlap scheduler.Overlap
	// OnCrash is the policy for a run whose replica died. Default scheduler.CrashSkip: a
	// tick runs at most once.
	OnCrash scheduler.OnCrash
	// CatchUp says which ticks that no replica could run are run later. Default: none.
	CatchUp scheduler.CatchUp
	// Retry says when the function is called again after it failed. Default: never.
	Retry scheduler.Retry
	// Jitter delays each tick by less than this, as much on every replica.
	Jitter time.Duration
	// Labels are those that a replica must have to run the job.
	Labels map[string]string
	// Priority: where a limit makes jobs wait, the larger goes first.
	Priority int
	// History bounds the stored ticks, runs and logs.
	History ledger.History
	// Tags are names by which many jobs are paused at once.
	Tags []string
	// OnSuccess and OnFailure name jobs that are triggered when a run has succeeded, or
	// has failed or timed out.
	OnSuccess, OnFailure []string
	// Formerly is the first name of a job that was renamed: its ledger, tokens and claims
	// go on.
	Formerly string
}

// addJobs adds the jobs of the program to those of the file.
func (p *program) addJobs(list []Job) error {
	read := p.Jobs
	p.Jobs = maps.Clone(read)
	if p.Jobs == nil {
		p.Jobs = map[string]config.JobConfig{}
	}
	var errs []error
	for _, job := range list {
		_, inFile := read[job.Name]
		_, twice := p.Jobs[job.Name]
		switch {
		case inFile:
			errs = append(errs, p.Wrong("the program has a job of this name, too; rename one", "jobs", job.Name))
			continue
		case twice:
			errs = append(errs, p.Wrong("the program has two jobs of this name; rename one", "jobs", job.Name))
			continue
		}
		p.Jobs[job.Name] = job.over(p.Defaults)
		p.Program("jobs", job.Name)
	}
	return errors.Join(errs...)
}

// over returns the job as a file would have it, whose defaults hold for it, too.
func (j Job) over(policy config.JobPolicy) config.JobConfig {
	set(&policy.Timeout, j.Timeout)
	set(&policy.Timezone, j.Timezone)
	set(&policy.Overlap, j.Overlap)
	set(&policy.OnCrash, j.OnCrash)
	set(&policy.CatchUp.Mode, j.CatchUp.Mode)
	set(&policy.CatchUp.Window, j.CatchUp.Window)
	set(&policy.CatchUp.Max, j.CatchUp.Max)
	set(&policy.Retry.Attempts, j.Retry.Attempts)
	set(&policy.Retry.Backoff, j.Retry.Backoff)
	if set(&policy.Retry.MaxBackoff, j.Retry.MaxBackoff); j.Retry.MaxBackoff == 0 {
		policy.Retry.MaxBackoff = max(policy.Retry.MaxBackoff, policy.Retry.Backoff)
	}
	set(&policy.Retry.AttemptTimeout, j.Retry.AttemptTimeout)
	set(&policy.Jitter, j.Jitter)
	set(&policy.Priority, j.Priority)
	set(&policy.History.Keep, j.History.Keep)
	set(&policy.History.MaxAge, j.History.MaxAge)
	set(&policy.History.MaxBytes, j.History.MaxBytes)
	policy.History.MaxBytes = max(policy.History.MaxBytes, 0) // negative: no logs
	if j.Labels != nil {
		policy.Labels = j.Labels
	}
	if j.Tags != nil {
		policy.Tags = j.Tags
	}
	made := config.JobConfig{
		Handler: j.Func, Description: j.Description, OnSuccess: j.OnSuccess, OnFailure: j.OnFailure, Formerly: j.Formerly,
		JobPolicy: policy,
	}
	if j.Schedule != "" {
		made.Schedule = config.Specs{j.Schedule}
	}
	return made
}

// set sets a field to a value that is not zero.
func set[T comparable](field *T, value T) {
	if value != *new(T) {
		*field = value
	}
}
