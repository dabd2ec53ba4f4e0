package cells_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/quorate/quorate/internal/cells"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

var layout = cells.Layout{"east", "north", "west"}

// memory is a cluster of cells in memory.
func memory() (*cells.Locker, *cells.Ledger) {
	locker, ledger := &cells.Locker{Layout: layout}, &cells.Ledger{Layout: layout}
	for range layout {
		m := new(locktest.Memory)
		locker.Cells = append(locker.Cells, m)
		ledger.Cells = append(ledger.Cells, schedtest.NewLedger(m))
	}
	return locker, ledger
}

func TestLockerConforms(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Backend{
		New: func(testing.TB) func(string) locking.Locker {
			locker, _ := memory()
			return func(string) locking.Locker { return locker }
		},
		Bubble: synctest.Test,
	})
}

func TestLedgerConforms(t *testing.T) {
	t.Parallel()
	backend := schedtest.LedgerBackend{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		New: func(testing.TB) (locking.Locker, ledger.Store) {
			locker, ledger := memory()
			return locker, ledger
		},
		Keep: 1000,
	}
	schedtest.RunLedger(t, backend)
	schedtest.RunArchive(t, backend)
}

func TestRosterConforms(t *testing.T) {
	t.Parallel()
	schedtest.RunRoster(t, schedtest.RosterBackend{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		New: func(testing.TB) scheduler.Roster {
			r := &cells.Roster{Layout: layout}
			for range layout {
				r.Cells = append(r.Cells, new(schedtest.Roster))
			}
			return r
		},
	})
}

func TestActsConform(t *testing.T) {
	t.Parallel()
	schedtest.RunActs(t, schedtest.ActsBackend{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		New: func(testing.TB) acts.Store {
			acts, _ := memoryActs()
			return acts
		},
	})
}

// An outage makes a store of acts one without a quorum.
type outage struct {
	acts.Store
	down bool
}

func memoryActs() (*cells.Acts, []*outage) {
	var list []acts.Store
	var each []*outage
	for range layout {
		o := &outage{Store: &schedtest.Acts{}}
		list, each = append(list, o), append(each, o)
	}
	return cells.NewActs(layout, list), each
}

// jobIn returns a job of the cell, another one for each n.
func jobIn(cell, n int) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("job-%d", i)
		if layout.Of(name) == cell {
			if n--; n < 0 {
				return name
			}
		}
	}
}
