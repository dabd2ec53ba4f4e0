// Command quorate-mysql is quorate with a client of MySQL and MariaDB: it can keep everything there, too.
package main

import (
	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
	"github.com/quorate/quorate/stores/mysql"
)

func main() {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	cmd.Main(registry, new(mysql.Store))
}
