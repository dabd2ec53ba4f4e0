// Command quorate-bbolt is quorate with a store of a third party: its sqlite section names a file of bbolt.
package main

import (
	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/ownstore"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
)

func main() {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	cmd.Main(registry, new(ownstore.Store))
}
