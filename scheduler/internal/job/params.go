package job

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/acts"
)

// Requests says which params a request for a run may have.
type Requests struct {
	// Bind returns the function with other params; those of a request override the job's
	// own, key by key. Nil: requests cannot have params.
	Bind func(params map[string]any) (jobs.Handler, error) `json:"-"`
	// Params describes the params of Bind. Nil: unknown.
	Params *jobs.Shape `json:"-"`
}

// CheckParams returns an *acts.Error if the job refuses the params of a request.
func (r Requests) CheckParams(params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	if _, err := BindParams(r, params); err != nil {
		return &acts.Error{Kind: acts.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

var errNoParams = errors.New("the job takes none with a request")

// BindParams returns the function with the params of a request.
func BindParams(r Requests, text json.RawMessage) (jobs.Handler, error) {
	if r.Bind == nil {
		return nil, errNoParams
	}
	params, err := acts.DecodeParams(text)
	if err != nil {
		return nil, err
	}
	return r.Bind(params)
}

// PublishedParams describes the params that a request may have, for publication.
func (j *Job) PublishedParams() *jobs.Shape {
	if j.Bind == nil {
		return jobs.NoShape()
	}
	return j.Params
}
