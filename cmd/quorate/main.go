// Command quorate is the scheduler with the built-in jobs exec and http. To run your own
// functions, build your own program: see package cmd.
package main

import (
	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
)

func main() {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	cmd.Main(registry)
}
