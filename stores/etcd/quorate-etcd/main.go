// Command quorate-etcd is quorate with a client of etcd: it can keep everything in etcd, too.
package main

import (
	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
	"github.com/quorate/quorate/stores/etcd"
)

func main() {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	cmd.Main(registry, new(etcd.Store))
}
