package schedtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
)

// A Call is one call of a function of a job.
type Call[P any] struct {
	Run    jobs.Run
	Params P
	At     time.Time // when it began, by the virtual clock, in UTC
}

// Calls records the calls of a function. Register its Func instead of the function; then
// the params of the configuration are decoded as in production. The zero value is ready to
// use.
//
//	var reports schedtest.Calls[ReportParams]
//	jobs.Register(registry, "report", reports.Func)
type Calls[P any] struct {
	// Do, if set, is what the function does.
	Do func(ctx context.Context, run jobs.Run, params P) error

	mu   sync.Mutex
	list []Call[P]
}

// Func records the call, then calls Do.
func (c *Calls[P]) Func(ctx context.Context, run jobs.Run, params P) error {
	c.mu.Lock()
	c.list = append(c.list, Call[P]{Run: run, Params: params, At: time.Now().UTC()})
	c.mu.Unlock()
	if c.Do == nil {
		return nil
	}
	return c.Do(ctx, run, params)
}

// All returns the calls in the order in which they began.
func (c *Calls[P]) All() []Call[P] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}
