package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/acts"
)

// params describes the params that a request may have, for publication.
func (j *Job) params() *jobs.Shape {
	if j.Bind == nil {
		return jobs.NoShape()
	}
	return j.Params
}

// CheckParams returns an *acts.Error if the published job refuses the params of a request.
// Unpublished rules are checked when the run begins.
func (j JobInfo) CheckParams(params json.RawMessage) error {
	if j.Params == nil || len(params) == 0 {
		return nil
	}
	given, err := acts.DecodeParams(params)
	if err == nil {
		err = j.Params.Check(given)
	}
	if err != nil {
		return &acts.Error{Kind: acts.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

// handler is the job's function with all middleware.
func (a *attempt) handler() jobs.Handler {
	h := a.bound()
	for _, m := range slices.Backward(a.cfg.Middleware) {
		h = m(h)
	}
	return h
}

// bound is the job's function with its params and those of the request. If they do not fit,
// the run fails.
func (b *brief) bound() jobs.Handler {
	if b.tick.act == nil || len(b.tick.act.Params) == 0 {
		return b.job.Handler
	}
	bound, err := b.job.bind(b.tick.act.Params)
	if err != nil {
		err = jobs.Permanent(fmt.Errorf("the params of the request: %w", err))
		return func(context.Context, jobs.Run) error { return err }
	}
	return bound
}

// CheckParams returns an *acts.Error if the job refuses the params of a request.
func (j *Job) CheckParams(params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	if _, err := j.bind(params); err != nil {
		return &acts.Error{Kind: acts.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

// CheckParams does so for the job with the key. It returns nil for jobs that this replica
// does not serve.
func (s *Scheduler) CheckParams(key string, params json.RawMessage) error {
	if j := s.public.job(key); j != nil {
		return j.CheckParams(params)
	}
	return nil
}

var errNoParams = errors.New("the job takes none with a request")

func (j *Job) bind(text json.RawMessage) (jobs.Handler, error) {
	if j.Bind == nil {
		return nil, errNoParams
	}
	params, err := acts.DecodeParams(text)
	if err != nil {
		return nil, err
	}
	return j.Bind(params)
}
