package scheduler_test

import (
	"flag"
	"testing"

	"github.com/quorate/quorate/dev/testkit/singletest"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// The tests of the engine run on the stores of schedtest, or on those of one consistent
// store:
//
//	go test ./scheduler -args -store=single
var store = flag.String("store", "memory", "the stores of the clusters: memory, onestore")

// A storedLedger keeps entries and logs.
type storedLedger interface {
	ledger.Store
	ledger.Archive
}

// A storedRoster keeps replicas, jobs and sets of jobs.
type storedRoster interface {
	roster.Roster
	roster.JobSets
}

// newStores returns a cluster without replicas.
func newStores(t *testing.T) *cluster {
	t.Helper()
	switch *store {
	case "memory":
		locks := new(locktest.Memory)
		return &cluster{locks: locks, ledger: schedtest.NewLedger(locks), roster: new(schedtest.Roster), commands: new(schedtest.Commands), votes: 1}
	case "onestore":
		c := singletest.New(t)
		return &cluster{locks: c.Claims, ledger: c.Ledger, roster: c.Roster, commands: c.Commands, early: singletest.Margin}
	}
	t.Fatalf("-store is %q: use memory or onestore", *store)
	return nil
}

// runCluster is schedtest.Run with the stores of the other tests.
func runCluster(t *testing.T, s schedtest.Setup, test func(t *testing.T, c *schedtest.Cluster)) {
	t.Helper()
	s.Stores = func(t *testing.T) scheduler.Stores {
		c := newStores(t)
		return scheduler.Stores{Locker: c.locks, Ledger: c.ledger, Roster: c.roster, JobSets: c.roster, Commands: c.commands, Archive: c.ledger}
	}
	schedtest.Run(t, s, test)
}
