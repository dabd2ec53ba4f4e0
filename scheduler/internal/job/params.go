package job

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/acts"
)

// PublishedParams describes the params that a request may have, for publication.
func (j *Job) PublishedParams() *jobs.Shape {
	if j.Bind == nil {
		return jobs.NoShape()
	}
	return j.Params
}

// CheckParams returns an *acts.Error if the job refuses the params of a request.
func (j *Job) CheckParams(params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	if _, err := j.BindParams(params); err != nil {
		return &acts.Error{Kind: acts.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

var errNoParams = errors.New("the job takes none with a request")

// BindParams returns the function with the params of a request.
func (j *Job) BindParams(text json.RawMessage) (jobs.Handler, error) {
	if j.Bind == nil {
		return nil, errNoParams
	}
	params, err := acts.DecodeParams(text)
	if err != nil {
		return nil, err
	}
	return j.Bind(params)
}
