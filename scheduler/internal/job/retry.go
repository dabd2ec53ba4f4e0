package job

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// A Retry says how often, and after which pauses, a failed function is called again under
// the same claim, with the same token. The lease is extended during the pauses. Retries end
// early after: an error marked by jobs.Permanent, jobs.Skip, a write that a guard refused
// as stale, the end of the run's context, and a drain, which lets the current call finish. It is
// the section retry of a configuration file, too.
type Retry struct {
	// Attempts counts the calls of the function, the first included. Default 1.
	Attempts int `json:"attempts,omitempty" jsonschema:"Calls of the function, the first included. 1: no retry."`
	// Backoff is the pause after the first call. It doubles after each call up to
	// MaxBackoff. Up to half of it is subtracted at random, so retries spread. Default 1 s.
	Backoff time.Duration `json:"backoff,omitempty" jsonschema:"Pause after the first call. It doubles after each further call; up to half of it is taken off at random."`
	// MaxBackoff bounds the pause. Default 1 min, or Backoff if that is longer.
	MaxBackoff time.Duration `json:"max_backoff,omitempty" jsonschema:"Longest pause."`
	// AttemptTimeout ends the context of one call with a cause that matches
	// jobs.ErrTimeout. Job.Timeout limits all calls and pauses together. 0: none.
	AttemptTimeout time.Duration `json:"attempt_timeout,omitempty" jsonschema:"Limit of one call; timeout limits all calls and pauses together. 0s: no limit of its own."`
}

// Defaults of a Retry.
const (
	DefaultBackoff    = time.Second
	DefaultMaxBackoff = time.Minute
)

// withDefaults returns a copy in which every zero value has its default.
func (r Retry) withDefaults() Retry {
	r.Attempts = cmp.Or(r.Attempts, 1)
	r.Backoff = cmp.Or(r.Backoff, DefaultBackoff)
	r.MaxBackoff = cmp.Or(r.MaxBackoff, max(DefaultMaxBackoff, r.Backoff))
	return r
}

// validate returns what is wrong with the policy of the job.
func (r Retry) validate(job string) error {
	switch r = r.withDefaults(); {
	case r.Attempts < 0:
		return fmt.Errorf("scheduler: job %q has %d attempts: it needs at least one", job, r.Attempts)
	case r.Backoff < 0 || r.MaxBackoff < r.Backoff:
		return fmt.Errorf("scheduler: job %q has a backoff from %v to %v: use positive durations, the smaller one first", job, r.Backoff, r.MaxBackoff)
	case r.AttemptTimeout < 0:
		return fmt.Errorf("scheduler: job %q has attempt timeout %v: it must not be negative", job, r.AttemptTimeout)
	}
	return nil
}

// RetryPause is the time between the given call and the next, with "equal jitter": half of it is
// fixed.
func (j *Job) RetryPause(try int, random func(time.Duration) time.Duration) time.Duration {
	limit, most := j.Retry.Backoff, j.Retry.MaxBackoff
	for i := 1; i < try && limit < most; i++ {
		limit = min(2*limit, most)
	}
	half := limit / 2
	return limit - half + random(half+1)
}

// Retries reports whether a call that ended with err is followed by another.
func (j *Job) Retries(try int, err error) bool {
	_, skipped := errors.AsType[*jobs.SkipError](err)
	switch {
	case err == nil, skipped, jobs.IsPermanent(err):
		return false
	case errors.Is(err, fence.ErrStale):
		return false // the next call would write with the same token
	}
	return try < j.Retry.Attempts
}
