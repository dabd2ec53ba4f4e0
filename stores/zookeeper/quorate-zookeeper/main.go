// Command quorate-zookeeper is quorate with a client of ZooKeeper: it can keep everything in ZooKeeper, too.
package main

import (
	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
	"github.com/quorate/quorate/stores/zookeeper"
)

func main() {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	cmd.Main(registry, new(zookeeper.Store))
}
