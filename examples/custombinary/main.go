// Custombinary is a binary of one's own: every quorate command, with Go
// functions of this program beside the built-in jobs.
//
//	go run ./examples/custombinary dev --config examples/custombinary/config.yaml
//	go run ./examples/custombinary validate --config examples/custombinary/config.yaml
//
// With dev, watch greet run once per tick on one of three replicas, its
// greeting in the lines below it with -v. Misspell a param in config.yaml and
// validate names its line and column.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
)

func main() { cmd.Main(registry()) }

func registry() *jobs.Registry {
	r := jobs.NewRegistry()
	execjob.Register(r)
	httpjob.Register(r)
	jobs.Register(r, "greet", greet)
	return r
}

// GreetParams are decoded strictly from the job's params.
type GreetParams struct {
	Name string        `json:"name"`
	For  time.Duration `json:"for"` // how long the greeting takes
}

// Validate is asked when the configuration is read.
func (p GreetParams) Validate() error {
	if p.Name == "" {
		return errors.New("name is empty; write whom to greet")
	}
	return nil
}

func greet(ctx context.Context, run jobs.Run, p GreetParams) error {
	run.Logger.Info("hello " + p.Name)
	select {
	case <-time.After(p.For):
		return nil
	case <-ctx.Done(): // the lease is lost, the time is up, or the replica drains
		return context.Cause(ctx)
	}
}
